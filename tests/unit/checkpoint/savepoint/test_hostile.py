"""Savepoints that somebody has tampered with (B34): refused by a sentence, and no file outside is read or written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.savepoint.test_check import OUTLINE
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.check import differences, require_same
from milepost.checkpoint.savepoint.restore import install, verify
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.manifest import canonical
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import MilepostError

HUGE = 10 << 30


@pytest.fixture
def taken(filled: SparkDirectory, tmp_path: Path) -> Path:
    """The folder of a savepoint, with something beside it that is none of its business."""
    (tmp_path / "outside").write_text("not yours")
    target = LocalStore(tmp_path / "savepoints")
    saved = replace(savepoint(target), outline=OUTLINE)
    return Path(finish(pin(filled.store, target, saved)).path)


def restore(path: Path, into: Path) -> None:
    """What `run --from-savepoint` does with a path."""
    found = catalog.load(str(path))
    require_same(found, differences(found, "orders", OUTLINE), is_allowed=False)
    verify(found)
    install(found, LocalStore(into), f"file:{into}")


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest, and give it the checksum that fits: whoever can write it can do that."""
    document = json.loads((path / "_metadata").read_text())
    change(document["savepoint"])
    document["sha256"] = hashlib.sha256(canonical(document["savepoint"]).encode()).hexdigest()
    (path / "_metadata").write_text(json.dumps(document))


def listing(name: str) -> Callable[[Path], None]:
    data = b"not yours"
    entry = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return lambda path: rewritten(path, lambda content: content["files"].update({name: entry}))


def without_manifest(path: Path) -> None:
    (path / "_metadata").unlink()


def wrong_hash(path: Path) -> None:
    (path / "commits/3").write_bytes(b"v1\n{}")
    size = len(b"v1\n{}")
    rewritten(path, lambda content: content["files"]["commits/3"].update(size=size))


def wrong_hash_of_the_manifest(path: Path) -> None:
    text = (path / "_metadata").read_text()
    (path / "_metadata").write_text(text.replace("orders", "others"))


def of_another_job(path: Path) -> None:
    rewritten(path, lambda content: content["job"].update(name="others"))


def of_a_newer_format(path: Path) -> None:
    document = json.loads((path / "_metadata").read_text())
    (path / "_metadata").write_text(json.dumps(document | {"format": 99}))


def link_out(path: Path) -> None:
    (path / "offsets/3").unlink()
    (path / "offsets/3").symlink_to(path.parent.parent / "outside")


def link_out_of_the_manifest(path: Path) -> None:
    (path / "_metadata").rename(path.parent.parent / "moved")
    (path / "_metadata").symlink_to(path.parent.parent / "moved")


def endless_manifest(path: Path) -> None:
    (path / "_metadata").unlink()
    (path / "_metadata").symlink_to("/dev/zero")


def pipe_for_a_manifest(path: Path) -> None:
    (path / "_metadata").unlink()
    os.mkfifo(path / "_metadata")


def huge_file(path: Path) -> None:
    os.truncate(path / "offsets/3", HUGE)


def huge_manifest(path: Path) -> None:
    os.truncate(path / "_metadata", HUGE)


ROWS: dict[str, tuple[Callable[[Path], None], str]] = {
    "without a manifest": (without_manifest, "There is no savepoint at"),
    "wrong hash of a file": (wrong_hash, "its checksum is not the one in _metadata"),
    "wrong hash of the manifest": (wrong_hash_of_the_manifest, "its checksum is not that of its content"),
    "of another job": (of_another_job, "the job was 'others' and is 'orders'"),
    "of a newer format": (of_a_newer_format, "its format is 99"),
    "a link out": (link_out, "it is a link to somewhere else"),
    "a link in place of the manifest": (link_out_of_the_manifest, "is a link"),
    "an endless manifest": (endless_manifest, "is a link"),
    "a pipe for a manifest": (pipe_for_a_manifest, "There is no savepoint at"),
    "a way up": (listing("../outside"), "leads out of the savepoint"),
    "a way up in the middle": (listing("offsets/../../../outside"), "leads out of the savepoint"),
    "a way up with backslashes": (listing("..\\outside"), "leads out of the savepoint"),
    "an absolute path": (listing("/etc/hostname"), "leads out of the savepoint"),
    "an address": (listing("file:/etc/hostname"), "leads out of the savepoint"),
    "a zero byte": (listing("offsets/3\0.json"), "leads out of the savepoint"),
    "a file that is not a checkpoint's": (listing("milepost/lease"), "it is not a file of a checkpoint"),
    "a file of ten gigabytes": (huge_file, "bytes, and _metadata says"),
    "a manifest of ten gigabytes": (huge_manifest, "is too large to be the manifest"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("row", ROWS)
def test_it_is_refused_and_nothing_outside_is_touched(row: str, taken: Path, tmp_path: Path):
    tamper, sentence = ROWS[row]
    tamper(taken)
    target = tmp_path / "restored"
    with pytest.raises(MilepostError) as refused:
        restore(taken, target)
    assert sentence in f"{refused.value.what} {refused.value.why}"
    assert not target.exists()
    assert (tmp_path / "outside").read_text() == "not yours"


def test_the_one_that_nobody_has_touched_is_restored(taken: Path, tmp_path: Path):
    restore(taken, tmp_path / "restored")
    assert (tmp_path / "restored/commits/3").is_file()


@pytest.mark.parametrize("tamper", [endless_manifest, pipe_for_a_manifest, huge_manifest])
def test_what_is_no_manifest_does_not_keep_the_others_from_being_listed(tamper: Any, taken: Path):
    tamper(taken)
    assert catalog.load_all(str(taken.parent)) == []
