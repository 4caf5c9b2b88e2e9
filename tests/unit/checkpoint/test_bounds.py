"""Ten thousand checkpoints: what stays on disk is bounded, and neither a completion nor a start costs more for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends, offsets_text
from tests.unit.inspect.left_behind import completed

from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.ledger import FileLedger
from milepost.checkpoint.store.manifest import to_json
from milepost.checkpoint.store.store import Entry, LocalStore

MANY = 10_000
LONG_LOG = 2_000
ROTATION = 2 * 1024 * 1024


class Watched(LocalStore):
    """Counts what is read and listed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.calls: Counter[str] = Counter()
        self.bytes = 0

    def read(self, name: str) -> bytes:
        data = super().read(name)
        self.calls["read"] += 1
        self.bytes += len(data)
        return data

    def entries(self, folder: str) -> list[Entry]:
        self.calls["entries"] += 1
        return super().entries(folder)


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about durability, and ten thousand times forcing a disk takes minutes."""
    monkeypatch.setattr("os.fsync", lambda _file: None)


@pytest.fixture
def store(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "orders")


@pytest.fixture
def lease(store: Watched) -> Iterator[Lease]:
    lease = Lease.acquire(store, "job")
    yield lease
    lease.release()


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_manifests_and_history_stay_within_their_bounds(store: Watched, lease: Lease) -> None:
    ledger = FileLedger(store, lease, retained=5)
    largest = 0
    for number in range(MANY):
        ledger.complete(completed(number))
        if number % 1000 == 999:
            largest = max(largest, size_of(store.root))
    assert ledger.files.ids() == list(range(MANY - 5, MANY))
    assert largest < 2 * ROTATION + 100_000
    # It has turned over more than once: else nothing here was bounded.
    assert sum(len(to_json(completed(n))) for n in (0, 1)) / 2 * MANY > 2 * ROTATION
    assert History(store).read(1) == [ledger.history.read(1)[0]]


def test_a_completion_lists_nothing_however_many_are_kept(store: Watched, lease: Lease) -> None:
    ledger = FileLedger(store, lease, retained=1_000_000)
    costs = []
    for number in range(100):
        before = store.calls.copy()
        ledger.complete(completed(number))
        costs.append(dict(store.calls - before))
    assert costs[0] == {"entries": 1}
    assert costs[1:] == [{}] * 99
    assert len(ledger.files.ids()) == 100


def test_a_start_reads_a_bounded_part_of_many(store: Watched, lease: Lease) -> None:
    spark = SparkDirectory(store.root)
    spark.batches(offsets=[0], commits=[0])
    manifests = store.root / "milepost/checkpoints"
    manifests.mkdir()
    for number in range(LONG_LOG):
        (store.root / f"offsets/{number}").write_text(offsets_text({"orders": ends(number)}))
        (store.root / f"commits/{number}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        (manifests / f"{number}.json").write_bytes(to_json(completed(number)))
    check_directory(store, job_name="orders")
    restored = FileLedger(store, lease, retained=1_000_000).recover()
    assert restored is not None
    assert restored.checkpoint_id == LONG_LOG - 1
    CheckpointFiles(store).triggered_at()
    # One hundred entries of each log and as many manifests, and a checksum that may lie beside each.
    assert store.calls["read"] < 1000
    assert store.bytes < 1_000_000
