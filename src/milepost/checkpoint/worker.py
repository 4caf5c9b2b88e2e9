"""The coordinator's own thread: sleeps until something is due or a call arrives."""

from __future__ import annotations

import logging
import threading

from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.store.unwritable import storage_error
from milepost.errors import CheckpointError

log = logging.getLogger(__name__)


class CoordinatorThread:
    """Advances a coordinator from `start` to `stop`."""

    def __init__(self, coordinator: CheckpointCoordinator) -> None:
        """Run nothing before `start`."""
        self._coordinator = coordinator
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="checkpoint-coordinator", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Stop after the current step, and wait for it."""
        with self._coordinator.changed:
            self._stopped = True
            self._coordinator.changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        coordinator = self._coordinator
        while not self._stopped:
            # Read first: a call that arrives during `_advance` must end the sleep.
            calls = coordinator.calls
            pause = self._advance()
            with coordinator.changed:
                coordinator.changed.wait_for(
                    lambda seen=calls: self._stopped or coordinator.calls != seen,  # type: ignore[misc]
                    timeout=pause,
                )

    def _advance(self) -> float | None:
        try:
            return self._coordinator.advance()
        except OSError as error:
            self._coordinator.give_up(storage_error(error))
            return None
        except Exception as error:
            log.exception("The checkpoint coordinator failed")
            self._coordinator.give_up(
                CheckpointError(
                    f"The checkpoint coordinator failed: {type(error).__name__}: {error}",
                    why="this is a bug in Milepost; without the coordinator no checkpoint can be taken",
                    fix="Run again: the job resumes from its newest completed checkpoint. Please report it",
                )
            )
            return None
