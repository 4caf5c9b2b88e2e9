"""What the participants hand in during one checkpoint, checked and copied as it comes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime

from milepost.checkpoint.model import CheckpointId, Value
from milepost.checkpoint.participants.participant import SNAPSHOT, Member, SnapshotContext
from milepost.checkpoint.participants.traceback_text import own_words, user_traceback
from milepost.errors import ParticipantError, SnapshotDeclined

CORRECT_IT = "Correct the participant; the job resumes from its last completed checkpoint"


def declined(checkpoint_id: CheckpointId, name: str, *, why: str, fix: str = CORRECT_IT) -> SnapshotDeclined:
    """Return the error of a participant that declines a checkpoint."""
    what = f"Checkpoint {checkpoint_id} was declined by participant {name!r}"
    return SnapshotDeclined(what, why=why, fix=fix, participants=[name])


class Contributions:
    """The states by participant and the extra values by key; chains hand in side by side."""

    def __init__(self, checkpoint_id: CheckpointId, timestamp: datetime) -> None:
        self.states: dict[str, Value] = {}
        self.extra: dict[str, Value] = {}
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()

    def ask(self, member: Member) -> Value:
        """Return the member's state, which is kept; None where it has none, or no `snapshot_state`.

        Raises:
            SnapshotDeclined: the member raised, or left what cannot be stored.
            JobFailedError: the error of a built-in member.
        """
        context = SnapshotContext(member.name, self._checkpoint_id, self._timestamp)
        try:
            state, extra = context.end(member.hooks[SNAPSHOT](context) if SNAPSHOT in member.hooks else None)
        except BaseException as error:
            raise own_words(error) or self._declined(member.name, error) from error
        self._keep(member.name, state, extra)
        return state

    def _declined(self, name: str, error: BaseException) -> SnapshotDeclined:
        why = user_traceback(error)
        if isinstance(error, ParticipantError) and not why.startswith("Traceback"):
            # There is no line of user code to show: the state was checked after the hook had returned.
            return declined(self._checkpoint_id, name, why=f"{error.what}: {error.why}", fix=error.fix)
        return declined(self._checkpoint_id, name, why=why)

    def _keep(self, name: str, state: Value, extra: Mapping[str, Value]) -> None:
        with self._lock:
            for key in extra:
                owner = self._owners.setdefault(key, name)
                if owner != name:
                    raise declined(
                        self._checkpoint_id,
                        name,
                        why=f"it attached {key!r}, and so did {owner!r}; one of the two values would be lost",
                        fix="Give each participant keys of its own",
                    )
            self.extra.update(extra)
            if state is not None:
                self.states[name] = state
