"""Whose a savepoint is after a job was restored from it: still the user's, or the job's, which then removes it."""

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
        """Take the savepoint that the job begins from, if it does."""
        self._savepoint = savepoint if mode == "claim" else None
        self.thread: threading.Thread | None = None

    def completed(self, _checkpoint: CompletedCheckpoint) -> None:
        """Remove it, beside the stream."""
        savepoint, self._savepoint = self._savepoint, None
        if savepoint is not None:
            self.thread = threading.Thread(target=_dispose, args=(savepoint,), name="claimed", daemon=True)
            self.thread.start()


def requested_savepoint(path: str | None, *, fresh: bool) -> Savepoint | None:
    """Return the savepoint that a start names, if it names one; a fresh start has none."""
    if path is None:
        return None
    if fresh:
        raise ConfigError(
            "A start is fresh or from a savepoint, and not both", fix="Leave out --fresh or --from-savepoint"
        )
    return catalog.load(path)


def claim_mode_of(word: str) -> ClaimMode:
    """Return the mode, or refuse another word; Flink's spelling is taken too."""
    mode = word.lower().replace("_", "-")
    if mode not in get_args(ClaimMode):
        raise ConfigError(f"{word!r} is no claim mode", fix="Use claim or no-claim")
    return cast(ClaimMode, mode)


def _dispose(savepoint: Savepoint) -> None:
    try:
        catalog.dispose(savepoint.path)
    except Exception:  # the job does not need it any more, and goes on
        log.warning("The claimed savepoint %s could not be removed", savepoint.path, exc_info=True)
