"""The one bridge from Spark to the spine: fetches the engine's calls, and answers them.

Python asks and Java waits, not the other way round: py4j's callbacks would open a port without a secret.
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
    """Brings the calls of one attempt's engine to the coordinator, on a thread of its own."""

    def __init__(
        self,
        calls: Any,
        coordinator: CheckpointCoordinator,
        clock: Clock,
        keep_versions: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take the engine's `CoordinatorCalls`, and what makes its eras of versions durable; fetch nothing yet."""
        self._calls = calls
        self._coordinator = coordinator
        self._clock = clock
        self._keep_versions = keep_versions
        self._attempt = coordinator.attempt
        self._thread = threading.Thread(target=self._run, name="engine-calls", daemon=True)

    def start(self) -> None:
        """Begin to fetch."""
        self._thread.start()

    def stop(self) -> None:
        """Fetch no more; an engine that still waits for an answer is declined."""
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
            # The JVM is gone, and the job with it; or this is a fault of ours, and the engine must not wait for ever.
            log.debug("No more calls from the engine", exc_info=True)
            with suppress(Exception):
                self._calls.close()

    def _handle(self, call: dict[str, Any]) -> None:
        checkpoint_id = CheckpointId(call["id"])
        if call["call"] == "committed":
            self._coordinator.committed(checkpoint_id)
            return
        if call["call"] == "versions":
            self._calls.answer(checkpoint_id, self._kept(call["report"]))
            return
        verdict = "the coordinator failed"
        try:
            report = with_state_sizes(parse_report(call["report"], self._clock.now()), self._newest())
            declined = self._coordinator.seal(checkpoint_id, report, self._attempt)
            # The engine takes an empty text for "sealed".
            verdict = "" if declined is None else declined.reason
        except Exception as error:
            log.exception("While checkpoint %s was to be sealed", checkpoint_id)
            verdict = f"the coordinator failed: {type(error).__name__}: {error}"
        finally:
            self._calls.answer(checkpoint_id, verdict)

    def _newest(self) -> CompletedCheckpoint | None:
        with self._coordinator.changed:
            stats = self._coordinator.stats
            return stats.latest_completed or stats.restored

    def _kept(self, eras: str) -> str:
        """Return an empty text when the eras are durable, else why they are not."""
        try:
            self._keep_versions(eras)
        except OSError as error:
            return str(storage_error(error))
        except Exception as error:
            log.exception("While eras of versions were to be stored")
            return f"{type(error).__name__}: {error}"
        return ""
