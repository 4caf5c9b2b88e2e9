"""The bridge from Spark to the coordinator: fetches the engine's calls and answers them.

Python polls and Java waits. With py4j's callbacks the driver would listen on a port without authentication.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint
from milepost.checkpoint.stats.engine_report import parse_report
from milepost.checkpoint.stats.state_size import with_state_sizes
from milepost.checkpoint.store.unwritable import storage_error

log = logging.getLogger(__name__)

_WAIT_MS = 1000


class EngineCalls:
    """Passes the calls of one attempt's engine to the coordinator, on its own thread."""

    def __init__(
        self,
        calls: Any,
        coordinator: CheckpointCoordinator,
        clock: Clock,
        keep_versions: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`calls` is the engine's `CoordinatorCalls`; `keep_versions` makes eras of versions durable."""
        self._calls = calls
        self._coordinator = coordinator
        self._clock = clock
        self._keep_versions = keep_versions
        self._attempt = coordinator.attempt
        self._thread = threading.Thread(target=self._run, name="engine-calls", daemon=True)

    def start(self) -> None:
        """Start fetching calls."""
        self._thread.start()

    def stop(self) -> None:
        """Stop fetching; a call that still waits for an answer is declined."""
        self._calls.close()
        self._thread.join(timeout=10 * _WAIT_MS / 1000)

    def _run(self) -> None:
        try:
            while True:
                call = self._calls.next(_WAIT_MS)
                if call is not None:
                    self._handle(json.loads(call))
                elif self._calls.isClosed():
                    return
        except Exception:
            # The JVM is gone and the job with it, or this is a bug: in either case the engine must not wait forever.
            log.debug("Stopped fetching calls from the engine", exc_info=True)
            with suppress(Exception):
                self._calls.close()

    def _handle(self, call: dict[str, Any]) -> None:
        checkpoint_id = CheckpointId(call["id"])
        if call["call"] == "committed":
            self._coordinator.committed(checkpoint_id)
            return
        if call["call"] == "versions":
            self._answer(checkpoint_id, self._store_versions(call["report"]))
            return
        refusal: str | None = "the coordinator failed"
        try:
            refusal = self._seal(checkpoint_id, call["report"])
        except Exception as error:
            log.exception("Sealing checkpoint %s failed", checkpoint_id)
            refusal = f"the coordinator failed: {type(error).__name__}: {error}"
        finally:
            self._answer(checkpoint_id, refusal)

    def _answer(self, checkpoint_id: CheckpointId, refusal: str | None) -> None:
        """Answer the engine, which takes an empty text for consent."""
        self._calls.answer(checkpoint_id, refusal or "")

    def _seal(self, checkpoint_id: CheckpointId, document: str) -> str | None:
        """Return why the coordinator declines the checkpoint, or None if it is sealed."""
        report = with_state_sizes(parse_report(document, self._clock.now()), self._newest_checkpoint())
        declined = self._coordinator.seal(checkpoint_id, report, self._attempt)
        return None if declined is None else declined.reason

    def _newest_checkpoint(self) -> CompletedCheckpoint | None:
        with self._coordinator.changed:
            stats = self._coordinator.stats
            return stats.latest_completed or stats.restored

    def _store_versions(self, eras: str) -> str | None:
        """Make the eras durable; return why that failed, or None if it succeeded."""
        try:
            self._keep_versions(eras)
        except OSError as error:
            return str(storage_error(error))
        except Exception as error:
            log.exception("Storing the eras of versions failed")
            return f"{type(error).__name__}: {error}"
        return None
