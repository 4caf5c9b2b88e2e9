"""Files appear whole or not at all, on every kind of file system."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from milepost.checkpoint.store.store import LocalStore, Store


def test_a_file_is_created_once(store: Store):
    store.create("milepost/epochs/1", b"first")
    with pytest.raises(FileExistsError):
        store.create("milepost/epochs/1", b"second")
    assert store.read("milepost/epochs/1") == b"first"
    assert store.names("milepost/epochs") == ["1"]


def test_a_file_is_replaced(store: Store):
    store.replace("milepost/job.json", b"first, and longer")
    store.replace("milepost/job.json", b"second")
    assert store.read("milepost/job.json") == b"second"
    assert store.names("milepost") == ["job.json"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"new\n"),
        (b"", b"new\n"),
        (b"old\n", b"old\nnew\n"),
        (b"old\nto", b"old\nto\nnew\n"),
    ],
    ids=["no file", "empty", "whole", "torn"],
)
def test_a_line_is_appended_on_a_line_of_its_own(store: Store, before: bytes | None, after: bytes):
    if before is not None:
        store.replace("milepost/history.jsonl", before)
    store.append("milepost/history.jsonl", b"new")
    assert store.read("milepost/history.jsonl") == after
    assert store.size("milepost/history.jsonl") == len(after)


def test_what_is_not_there(store: Store):
    with pytest.raises(FileNotFoundError):
        store.read("milepost/lease")
    assert store.names("milepost") == []
    assert store.size("milepost/lease") == 0
    assert not store.exists("milepost/lease")
    assert not store.is_file("milepost/lease")
    store.delete("milepost/lease")
    store.delete_folder("milepost")


def test_names_are_those_of_files_in_order(store: Store):
    for name in ("b", "a", ".a.tmp", "folder/c"):
        store.replace(f"offsets/{name}", b"")
    assert store.names("offsets") == [".a.tmp", "a", "b"]
    assert [entry.name for entry in store.entries("offsets") if entry.is_folder] == ["folder"]
    assert sorted(store.walk("offsets")) == ["offsets/.a.tmp", "offsets/a", "offsets/b", "offsets/folder/c"]
    assert store.exists("offsets/folder")
    assert not store.is_file("offsets/folder")
    assert store.is_file("offsets/a")


def test_a_file_has_no_entries(store: Store):
    store.replace("offsets", b"")
    assert store.entries("offsets") == []


def test_a_folder_moves_with_all_it_holds(store: Store):
    store.replace("offsets/0", b"0")
    store.replace("offsets/deep/1", b"1")
    store.move("offsets", "milepost/discarded/1/offsets")
    assert not store.exists("offsets")
    assert store.read("milepost/discarded/1/offsets/0") == b"0"
    assert store.read("milepost/discarded/1/offsets/deep/1") == b"1"


def test_a_file_moves_over_another(store: Store):
    store.replace("a", b"new")
    store.replace("b", b"old")
    store.move("a", "b")
    assert (store.exists("a"), store.read("b")) == (False, b"new")


def test_deleting(store: Store):
    store.replace("folder/a", b"")
    store.replace("folder/b", b"")
    store.delete("folder/a")
    assert store.names("folder") == ["b"]
    store.delete_folder("folder")
    assert not store.exists("folder/b")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "milepost/../../x"])
def test_no_name_leads_out(store: Store, name: str):
    with pytest.raises(ValueError, match="leads out"):
        store.read(name)


def test_of_many_creators_one_succeeds(tmp_path: Path):
    store = LocalStore(tmp_path / "orders")
    ready = threading.Barrier(8)
    winners: list[int] = []

    def create(number: int) -> None:
        ready.wait()
        try:
            store.create("milepost/epochs/1", str(number).encode())
            winners.append(number)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(winner).encode() for winner in winners] == [store.read("milepost/epochs/1")]
    assert store.names("milepost/epochs") == ["1"]


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = LocalStore(tmp_path)
    store.replace("a", b"before")

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        for write in (store.create, store.replace):
            with pytest.raises(OSError, match="No space left"):
                write("a", b"after")
    assert store.read("a") == b"before"
    assert store.names("") == ["a"]


def test_create_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = LocalStore(tmp_path)

    def no_links(source: object, target: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    store.create("a", b"first")
    with pytest.raises(FileExistsError):
        store.create("a", b"second")
    assert store.read("a") == b"first"
    assert store.names("") == ["a"]


def test_every_write_is_forced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    forced: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        forced.append(Path(os.readlink(f"/proc/self/fd/{file}")).name.split(".")[-1])
        real(file)

    (tmp_path / "milepost").mkdir()
    monkeypatch.setattr(os, "fsync", fsync)
    store = LocalStore(tmp_path)
    for act, expected in (
        (lambda: store.create("milepost/a", b""), ["tmp", "milepost"]),
        (lambda: store.replace("milepost/a", b""), ["tmp", "milepost"]),
        (lambda: store.append("milepost/b", b""), ["b", "milepost"]),
        (lambda: store.append("milepost/b", b""), ["b"]),
    ):
        forced.clear()
        act()
        assert forced == expected


@pytest.mark.parametrize(
    ("directory", "address"),
    [
        ("/data/orders", "/data/orders/milepost/lease"),
        ("file:///with%20space/x", "/with space/x/milepost/lease"),
        ("memory://orders", "memory:///orders/milepost/lease"),
    ],
)
def test_a_store_is_opened_by_its_address(directory: str, address: str):
    assert Store.at(directory).address("milepost/lease") == address
