"""B31 to B33 of the bad input list: a directory as Spark leaves it, damaged in one place, is refused by its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends, offsets_text

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.recovery.preflight import check_directory, find_damage
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.identity import JobIdentity, record_job
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def manifest(number: int) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=NOW,
        completed_at=NOW,
        job_id="j",
        epoch=1,
        sources=({"orders": ends(number)},),
        states={"counter": number},
    )


@pytest.fixture
def whole(spark: SparkDirectory) -> SparkDirectory:
    """Batches 0 to 3 are done, 4 is begun; three manifests are retained."""
    spark.batches(offsets=range(5), commits=range(4))
    for number in (1, 2, 3):
        CheckpointFiles(spark.store).complete(manifest(number))
    record_job(spark.store, JobIdentity(name="orders", job_id="j"))
    return spark


def refused(spark: SparkDirectory) -> PreflightError:
    with pytest.raises(PreflightError) as raised:
        check_directory(spark.store, job_name="orders")
    assert raised.value.fix
    return raised.value


def test_a_whole_directory_passes(whole: SparkDirectory):
    check_directory(whole.store, job_name="orders")
    for name in ("offsets/4", "offsets/0", "commits/3", "metadata", "sources/0/0"):
        whole.checksum(name)
    check_directory(whole.store, job_name="orders")


@pytest.mark.parametrize("prepare", [lambda root: None, lambda root: root.mkdir()], ids=["missing", "empty"])
def test_b31_a_new_directory_passes(spark: SparkDirectory, prepare: Callable[[Path], None]):
    prepare(spark.root)
    check_directory(spark.store, job_name="orders")


def test_b31_a_job_that_died_before_its_first_batch_passes(spark: SparkDirectory):
    spark.batches(offsets=[], commits=[])
    check_directory(spark.store, job_name="orders")
    spark.batches(offsets=[0], commits=[])
    check_directory(spark.store, job_name="orders")


def test_b31_another_job(whole: SparkDirectory):
    with pytest.raises(PreflightError, match="belongs to job 'orders', and this job is 'invoices'"):
        check_directory(whole.store, job_name="invoices")


def test_b31_a_file_instead_of_a_directory(spark: SparkDirectory):
    spark.root.write_text("")
    assert str(refused(spark)).startswith(
        f"{spark.root} is a file, and checkpointing.dir must be a directory"
    )


def remove(name: str) -> Callable[[SparkDirectory], object]:
    return lambda spark: (spark.root / name).unlink()


def write(name: str, data: str | bytes) -> Callable[[SparkDirectory], object]:
    return lambda spark: spark.write(name, data)


def folder(name: str) -> Callable[[SparkDirectory], object]:
    return lambda spark: (spark.root / name).mkdir()


def file_for_folder(name: str) -> Callable[[SparkDirectory], object]:
    def act(spark: SparkDirectory) -> None:
        shutil.rmtree(spark.root / name)
        spark.write(name, "")

    return act


def empty(name: str) -> Callable[[SparkDirectory], object]:
    def act(spark: SparkDirectory) -> None:
        for path in (spark.root / name).iterdir():
            path.unlink()

    return act


def wrong_checksum(name: str) -> Callable[[SparkDirectory], object]:
    def act(spark: SparkDirectory) -> None:
        crc = spark.checksum(name)
        crc.write_bytes(crc.read_bytes()[:-1] + b"\0\0")

    return act


def other_offsets(spark: SparkDirectory) -> None:
    spark.write("offsets/3", offsets_text({"orders": {0: 35, 1: 39}}))


def wrong_manifest_sum(spark: SparkDirectory) -> None:
    name = "milepost/checkpoints/2.json"
    spark.write(name, spark.store.read(name).replace(b'"counter":{"json":2}', b'"counter":{"json":7}'))


def all_of_spark(spark: SparkDirectory) -> None:
    for name in ("offsets", "commits", "sources"):
        shutil.rmtree(spark.root / name)
    (spark.root / "metadata").unlink()


def sealed_damaged(spark: SparkDirectory) -> None:
    (spark.root / "milepost/checkpoints/3.json").unlink()
    spark.write("milepost/sealed/3.json", "{")


B31: list[tuple[str, Callable[[SparkDirectory], object], str]] = [
    ("offsets without metadata", remove("metadata"), "metadata is missing"),
    ("metadata is garbage", write("metadata", "\0\0"), "metadata is damaged"),
    ("metadata without an id", write("metadata", "{}"), "metadata is damaged"),
    ("commits without offsets", empty("offsets"), "offsets/0 is missing"),
    ("hole in offsets", remove("offsets/2"), "offsets/2 is missing"),
    (
        "newest offsets gone",
        lambda s: (remove("offsets/4")(s), remove("offsets/3")(s)),
        "offsets/3 is missing",
    ),
    ("hole in commits", remove("commits/2"), "commits/2 is missing"),
    ("newest commit gone", remove("commits/3"), "commits/3 is missing"),
    ("all commits gone", empty("commits"), "commits/0 is missing"),
    ("offsets of a future version", write("offsets/4", "v999\n{}\n{}"), "offsets/4 is not an entry"),
    ("commit of a future version", write("commits/3", "v999\n{}"), "commits/3 is not an entry"),
    ("offsets is a file", file_for_folder("offsets"), "offsets is a file"),
    ("commits is a file", file_for_folder("commits"), "commits is a file"),
    (
        "of a query that reads files",
        write("offsets/4", 'v1\n{}\n{"logOffset":4}'),
        "offsets/4 is not an entry",
    ),
    ("everything of Spark's gone", all_of_spark, "offsets has lost its entries"),
]
B32: list[tuple[str, Callable[[SparkDirectory], object], str]] = [
    ("commit is v1 only", write("commits/3", "v1"), "commits/3 is not an entry of Spark's commit log"),
    (
        "older commit is v1 only",
        write("commits/1", "v1\n"),
        "commits/1 is not an entry of Spark's commit log",
    ),
    ("commit is empty", write("commits/3", ""), "commits/3 is not an entry of Spark's commit log"),
    (
        "commit is garbage",
        write("commits/3", b"\x00\xff\xfe"),
        "commits/3 is not an entry of Spark's commit log",
    ),
    ("commit is cut", write("commits/3", COMMIT[:-3]), "commits/3 is not an entry of Spark's commit log"),
    ("offsets are v1 only", write("offsets/4", "v1"), "offsets/4 is not an entry of Spark's offset log"),
    ("offsets are empty", write("offsets/4", ""), "offsets/4 is not an entry of Spark's offset log"),
    (
        "offsets are garbage",
        write("offsets/3", b"\xff" * 40),
        "offsets/3 is not an entry of Spark's offset log",
    ),
    (
        "offsets are cut",
        write("offsets/4", offsets_text({"orders": ends(4)})[:-3]),
        "offsets/4 is not an entry of Spark's offset log",
    ),
    ("wrong topic", write("offsets/4", offsets_text({"other": ends(4)})), "offsets/4 does not continue"),
    (
        "partition missing",
        write("offsets/4", offsets_text({"orders": {0: 50}})),
        "offsets/4 does not continue",
    ),
    ("no source", write("offsets/4", offsets_text()), "offsets/4 is not an entry"),
    ("a source less", write("offsets/4", "v1\n{}\n-"), "offsets/4 does not continue"),
    (
        "a source more",
        write("offsets/4", offsets_text({"orders": ends(4)}, {})),
        "offsets/4 does not continue",
    ),
    ("offset goes back", write("offsets/4", offsets_text({"orders": {0: 1, 1: 49}})), "offsets/4 is behind"),
    ("beginning is cut", write("sources/0/0", "\0v1"), "sources/0/0 does not say where the source began"),
    ("manifest is cut", write("milepost/checkpoints/3.json", "{"), "checkpoints/3.json is damaged"),
    ("manifest's checksum", wrong_manifest_sum, "checkpoints/2.json is damaged"),
    ("manifest and log differ", other_offsets, "checkpoints/3.json contradicts Spark's log"),
    (
        "manifest under another name",
        lambda s: shutil.copy(s.root / "milepost/checkpoints/3.json", s.root / "milepost/checkpoints/0.json"),
        "checkpoints/0.json has a wrong name",
    ),
    ("what was sealed is cut", sealed_damaged, "sealed/3.json is damaged"),
    ("job.json is cut", write("milepost/job.json", "{"), "job.json is damaged"),
]
B33: list[tuple[str, Callable[[SparkDirectory], object], str]] = [
    ("wrong .crc of offsets", wrong_checksum("offsets/4"), "offsets/4 is damaged"),
    ("wrong .crc of a commit", wrong_checksum("commits/3"), "commits/3 is damaged"),
    ("wrong .crc of metadata", wrong_checksum("metadata"), "metadata is damaged"),
    ("wrong .crc of the beginning", wrong_checksum("sources/0/0"), "sources/0/0 is damaged"),
    ("numeric folder in offsets", folder("offsets/5"), "offsets/5 is a folder"),
    ("numeric folder in commits", folder("commits/4"), "commits/4 is a folder"),
    ("a name that Spark reads as 4", write("commits/+4", COMMIT), "commits/+4 is not an entry of the log"),
]


@pytest.mark.parametrize(
    ("damage", "message"),
    [(act, message) for _, act, message in B31 + B32 + B33],
    ids=[f"{row} {name}" for row, rows in (("B31", B31), ("B32", B32), ("B33", B33)) for name, _, _ in rows],
)
def test_damage_is_refused_by_the_files_name(
    whole: SparkDirectory, damage: Callable[[SparkDirectory], object], message: str
):
    damage(whole)
    assert f"{whole.root}/" in refused(whole).what
    assert message in refused(whole).what


HARMLESS: list[tuple[str, Callable[[SparkDirectory], object]]] = [
    ("B33 .crc missing", lambda s: s.checksum("offsets/3")),
    ("B33 .crc that is none", write("offsets/.4.crc", "")),
    ("B33 .crc of nothing", write("offsets/.9.crc", "crc\0")),
    ("B33 leftover .tmp", write("commits/.4.6e7a.tmp", "v1")),
    ("B33 extra files", write("offsets/notes.txt", "mine")),
    ("B33 a number too long for Spark", write("offsets/99999999999999999999", "")),
    ("B33 extra folder", folder("commits/backup")),
    ("purge of old offsets cut short", remove("offsets/0")),
    ("purge of old commits done", remove("commits/0")),
    ("the last batch was set back by hand", lambda s: (remove("offsets/4")(s), remove("commits/3")(s))),
    ("the beginning is not needed any more", remove("sources/0/0")),
    ("manifests of plain Spark's batches are not there", lambda s: shutil.rmtree(s.root / "milepost")),
    ("partition added", write("offsets/4", offsets_text({"orders": {**ends(4), 2: 0}}))),
]


@pytest.mark.parametrize("act", [act for _, act in HARMLESS], ids=[name for name, _ in HARMLESS])
def test_what_is_harmless_passes(whole: SparkDirectory, act: Callable[[SparkDirectory], object]):
    act(whole)
    check_directory(whole.store, job_name="orders")


def test_the_beginning_is_needed_until_a_batch_completed(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[])
    (spark.root / "sources/0/0").unlink()
    assert "sources/0/0 is missing" in refused(spark).what


def test_the_error_names_other_damage_and_every_way_out(whole: SparkDirectory):
    whole.write("commits/3", "v1")
    whole.write("offsets/4", "v1")
    error = refused(whole)
    assert "damaged too: commits/3" in error.why
    assert error.fix == (
        "Restore it from a copy of the directory, "
        "or set checkpointing.on-damage to fall-back, which resumes from checkpoint 2"
    )
    (whole.root / "metadata").unlink()
    assert "fall-back" not in refused(whole).fix


def test_a_directory_that_cannot_be_read(whole: SparkDirectory, monkeypatch: pytest.MonkeyPatch):
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert "cannot be read" in refused(whole).what


def test_directories_on_every_file_system_are_checked(store: Store):
    store.replace("offsets/0", offsets_text({"t": {0: 5}}).encode())
    store.replace("commits/0", b"v1")
    store.replace("metadata", b'{"id":"4d7fe9a7"}')
    with pytest.raises(PreflightError, match="commits/0 is not an entry of Spark's commit log"):
        check_directory(store, job_name="orders")
    store.replace("commits/0", COMMIT.encode())
    check_directory(store, job_name="orders")


FILES = [
    "metadata",
    "offsets/3",
    "offsets/4",
    "commits/3",
    "milepost/checkpoints/3.json",
    "milepost/job.json",
]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=st.sampled_from(FILES), data=st.data())
def test_no_cut_moves_the_job(whole: SparkDirectory, name: str, data: st.DataObject):
    """F29: whatever is cut, the job resumes where it was or is refused."""
    path = whole.root / name
    before = path.read_bytes()
    path.write_bytes(before[: data.draw(st.integers(0, len(before) - 1))])
    try:
        try:
            check_directory(whole.store, job_name="orders")
        except PreflightError:
            return
        completed = newest_completed(whole.store)
        assert completed is not None
        assert (completed.batch_id, completed.sources) == (3, ({"orders": ends(3)},))
        # Only a line feed at the end, or what a JSON text does not need, can be cut unnoticed.
        assert json.loads(path.read_bytes().splitlines()[-1]) == json.loads(before.splitlines()[-1])
    finally:
        path.write_bytes(before)


def test_finding_changes_nothing(whole: SparkDirectory):
    whole.write("commits/3", "v1")
    before = {path: path.read_bytes() for path in whole.root.rglob("*") if path.is_file()}
    assert find_damage(whole.store, job_name="orders")
    assert {path: path.read_bytes() for path in whole.root.rglob("*") if path.is_file()} == before
