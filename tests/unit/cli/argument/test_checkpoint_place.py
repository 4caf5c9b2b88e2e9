"""What a JOB argument stands for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import fsspec
import pytest
import yaml

from milepost.cli.argument.checkpoint_place import Kind, resolve
from milepost.errors import ConfigError, NotReachableError
from milepost.job.registry import Entry, register


def pipeline(folder: Path, directory: Path) -> Path:
    document = {
        "name": "orders",
        "source": {"kafka": {"bootstrap-servers": "localhost:9092", "topics": ["orders"]}},
        "sink": {"console": {}},
        "checkpointing": {"dir": str(directory)},
    }
    file = folder / "orders.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def test_a_pipelines_file_stands_for_its_checkpoint_directory(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints"
    (directory / "offsets").mkdir(parents=True)
    target = resolve(str(pipeline(tmp_path, directory)))
    assert (target.directory, target.kind) == (str(directory), Kind.CHECKPOINTS)
    assert target.config is not None
    assert target.config.name == "orders"


def test_a_key_of_the_file_can_be_overridden(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "milepost").mkdir(parents=True)
    target = resolve(str(pipeline(tmp_path, tmp_path / "none")), [f"checkpointing.dir={other}"])
    assert target.directory == str(other)


def test_a_running_job_stands_for_its_checkpoint_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = tmp_path / "checkpoints"
    (directory / "offsets").mkdir(parents=True)
    entry = Entry(
        job_id="a" * 32,
        name="orders",
        directory=str(directory),
        address="http://127.0.0.1:8081",
        token_file="",
        pid=os.getpid(),
    )
    with register(entry):
        for job in ("orders", "a" * 32, "http://127.0.0.1:8081"):
            assert resolve(job).directory == str(directory)


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_directory_stands_for_itself(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "commits").mkdir()
    target = resolve(f"{prefix}{tmp_path}")
    assert (target.kind, target.config) == (Kind.CHECKPOINTS, None)
    assert [entry.name for entry in target.store.entries("")] == ["commits"]


def test_a_directory_may_be_anywhere() -> None:
    files = fsspec.filesystem("memory")
    files.pipe_file("/target-of-a-test/offsets/0", b"v1")
    try:
        assert resolve("memory://target-of-a-test").kind is Kind.CHECKPOINTS
    finally:
        files.rm("/target-of-a-test", recursive=True)


def test_a_directory_with_metadata_of_a_savepoint_is_one(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "_metadata").write_text("{}")
    assert resolve(str(tmp_path)).kind is Kind.SAVEPOINT


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotReachableError, match="does not exist") as refused:
        resolve(str(tmp_path / "nothing"))
    assert refused.value.exit_code == 3


def test_a_directory_of_something_else_is_not_a_job(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(NotReachableError, match="contains no files of a job"):
        resolve(str(tmp_path))


def test_a_job_that_never_ran_has_no_directory(tmp_path: Path) -> None:
    with pytest.raises(NotReachableError, match="Run the job first"):
        resolve(str(pipeline(tmp_path, tmp_path / "none")))


def test_a_file_that_is_no_pipeline_is_refused_as_such(tmp_path: Path) -> None:
    file = tmp_path / "jobs.txt"
    file.write_text("hello")
    with pytest.raises(ConfigError):
        resolve(str(file))
