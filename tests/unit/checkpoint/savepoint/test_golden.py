"""Savepoints that an earlier version wrote are read, checked and installed by this one; tests/system restores them."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.check import differences
from milepost.checkpoint.savepoint.restore import install, verify
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import LocalStore

GOLDEN = sorted(path.parent for path in (Path(__file__).parents[3] / "golden").glob("*/_metadata"))


def test_each_kind_is_there():
    assert [path.name for path in GOLDEN] == [
        "filesystem",
        "participant",
        "real-time",
        "rocksdb",
        "stateless",
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_savepoint_is_whole_and_can_be_installed(path: Path, tmp_path: Path):
    golden = catalog.load(str(path))
    check_directory(verify(golden), job_name=golden.job_name)
    assert differences(golden, golden.job_name, golden.outline) == []
    target = LocalStore(tmp_path / "restored")
    install(golden, target, "file:/restored")
    check_directory(target, job_name=golden.job_name)
    stored = CheckpointFiles(target).get(golden.checkpoint_id)
    assert stored is not None
    assert stored.sources == ({f"golden-{path.name}": {0: 12}},)
    assert any(name.startswith("state/") for name in golden.files) == (path.name in ("rocksdb", "filesystem"))
    if path.name == "participant":
        assert stored.states["tally"]["snapshots"] >= 1
