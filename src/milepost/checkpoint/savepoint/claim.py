"""The owner of a savepoint after a restore: the user, or the job, which then removes it."""

from __future__ import annotations

import logging
import threading
from typing import Literal, cast, get_args

from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.errors import ConfigError

log = logging.getLogger(__name__)

ClaimMode = Literal["no-claim", "claim"]
"""Flink's modes; under no-claim the savepoint is never touched."""


class ClaimedSavepoint(CoordinatorListener):
    """Removes a claimed savepoint once a checkpoint of the restored job has completed; not before."""

    def __init__(self, savepoint: Savepoint | None, mode: ClaimMode) -> None:
        """Take the savepoint that the job starts from, if any."""
        self._savepoint = savepoint if mode == "claim" else None
        self.thread: threading.Thread | None = None

    def completed(self, _checkpoint: CompletedCheckpoint) -> None:
        """Remove it on a thread of its own."""
        savepoint, self._savepoint = self._savepoint, None
        if savepoint is not None:
            self.thread = threading.Thread(target=_dispose, args=(savepoint,), name="claimed", daemon=True)
            self.thread.start()


def requested_savepoint(path: str | None, *, fresh: bool) -> Savepoint | None:
    """Return the savepoint that a start names, if any; a fresh start cannot name one."""
    if path is None:
        return None
    if fresh:
        raise ConfigError(
            "A start is either fresh or from a savepoint", fix="Leave out --fresh or --from-savepoint"
        )
    return catalog.load(path)


def claim_mode_of(word: str) -> ClaimMode:
    """Return the mode, or refuse the word. Flink's spelling is accepted too."""
    mode = word.lower().replace("_", "-")
    if mode not in get_args(ClaimMode):
        raise ConfigError(f"{word!r} is not a claim mode", fix="Use claim or no-claim")
    return cast(ClaimMode, mode)


def _dispose(savepoint: Savepoint) -> None:
    try:
        catalog.dispose(savepoint.path)
    except Exception:  # the job no longer needs it
        log.warning("The claimed savepoint %s could not be removed", savepoint.path, exc_info=True)
