"""What a file system of fsspec's cannot do is done with a temporary name, or refused with what to install."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from milepost.checkpoint.store.remote import RemoteStore
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError


class Hdfs(LocalFileSystem):  # type: ignore[misc]
    """Writes in place and renames over nothing, as HDFS does."""

    pipe_file = AbstractFileSystem.pipe_file

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        if Path(path2).is_file():
            raise OSError(f"cannot rename to {path2}")
        super().mv(path1, path2, **options)


class Race(Hdfs):
    """Another driver creates the file between the look and the rename."""

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        Path(path2).write_bytes(b"theirs")
        super().mv(path1, path2, **options)


@pytest.fixture
def hdfs(tmp_path: Path) -> RemoteStore:
    return RemoteStore(Hdfs(), str(tmp_path))


def test_a_rename_makes_a_file_whole(hdfs: RemoteStore):
    hdfs.create("milepost/epochs/1", b"first")
    with pytest.raises(FileExistsError):
        hdfs.create("milepost/epochs/1", b"second")
    hdfs.replace("milepost/epochs/1", b"third")
    hdfs.append("milepost/epochs/1", b"fourth")
    assert hdfs.read("milepost/epochs/1") == b"third\nfourth\n"
    assert hdfs.names("milepost/epochs") == ["1"]


def test_the_file_system_decides_a_race(tmp_path: Path):
    store = RemoteStore(Race(), str(tmp_path))
    with pytest.raises(FileExistsError):
        store.create("1", b"ours")
    assert store.read("1") == b"theirs"
    assert store.names("") == ["1"]


@pytest.mark.parametrize(
    ("directory", "package"),
    [
        ("s3a://bucket/orders", "Run `pip install s3fs`"),
        ("hdfs://namenode:8020/orders", "Run `pip install pyarrow`"),
        ("abfss://c@a.dfs.core.windows.net/x", "Run `pip install adlfs`"),
        ("gs://bucket/orders", "Run `pip install gcsfs`"),
        ("swift://container/orders", "Use file:, hdfs:, s3a:, gs: or abfss:"),
    ],
)
def test_a_missing_driver_is_refused_with_what_to_install(
    directory: str, package: str, monkeypatch: pytest.MonkeyPatch
):
    for module in ("s3fs", "pyarrow", "pyarrow.fs", "adlfs", "gcsfs"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PreflightError) as raised:
        Store.at(directory)
    assert raised.value.fix == package
