"""Whose a savepoint is after a restore."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.rig import checkpoint
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint.claim import ClaimedSavepoint, claim_mode_of, requested_savepoint
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import ConfigError, NotReachableError


def test_it_is_removed_after_the_first_checkpoint_only_where_it_was_claimed(
    filled: SparkDirectory, tmp_path: Path
):
    target = LocalStore(tmp_path / "savepoints")
    taken = finish(pin(filled.store, target, savepoint(target)))
    ClaimedSavepoint(taken, "no-claim").completed(checkpoint(4))
    assert requested_savepoint(taken.path, fresh=False) == taken
    claimed = ClaimedSavepoint(taken, "claim")
    claimed.completed(checkpoint(4))
    assert claimed.thread is not None
    claimed.thread.join()
    assert not Path(taken.path).exists()
    claimed.completed(checkpoint(5))


def test_a_start_names_one_or_none(tmp_path: Path):
    assert requested_savepoint(None, fresh=True) is None
    with pytest.raises(ConfigError, match="fresh or from a savepoint"):
        requested_savepoint("/savepoints/x", fresh=True)
    with pytest.raises(NotReachableError):
        requested_savepoint(str(tmp_path), fresh=False)


def test_modes_are_flinks():
    assert claim_mode_of("NO_CLAIM") == "no-claim"
    assert claim_mode_of("claim") == "claim"
    with pytest.raises(ConfigError, match="legacy"):
        claim_mode_of("legacy")
