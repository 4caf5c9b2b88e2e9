"""A savepoint is made inside the configured directory, wherever a request points to (B34, CVE-2020-17519)."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.rest.server.refusal import Refusal
from milepost.rest.view.savepoint_targets import is_inside, resolve_directory


def test_inside(tmp_path: Path):
    root = tmp_path / "savepoints"
    for wanted in (
        root,
        root / "a",
        root / "a" / "b",
        f"file://{root}/a",
        f"file:{root}/a",
        f"{root}/a/../b",
        f"{root}/",
    ):
        assert is_inside(str(root), str(wanted)), wanted
    assert is_inside(f"file://{root}", f"{root}/x")


OUTSIDE = [
    "/etc",
    "{}/..",
    "{}/../other",
    "{}x",
    "{}/a/../../x",
    "relative",
    "..",
    "",
    "{}/a\x00b",
    "{}\\..\\x",
]
OUTSIDE += ["file://host{}/a", "http://host/a", "s3://bucket{}", "jar:file:{}!/x", "{}/" + "x" * 2000]
OUTSIDE += ["file://{}/%2e%2e/other", "file://{}/a%2f..%2f..%2f..%2fetc"]


@pytest.mark.parametrize("wanted", OUTSIDE)
def test_outside(wanted: str, tmp_path: Path):
    root = tmp_path / "savepoints"
    assert not is_inside(str(root), wanted.replace("{}", str(root)))


def test_a_link_that_leads_out_is_followed(tmp_path: Path):
    root = tmp_path / "savepoints"
    root.mkdir()
    (root / "out").symlink_to("/etc")
    assert not is_inside(str(root), str(root / "out"))
    assert not is_inside(str(root), str(root / "out" / "x"))


def test_a_root_that_is_a_link_is_itself(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_inside(str(tmp_path / "link"), str(tmp_path / "link" / "a"))


def test_object_stores():
    root = "s3a://bucket/savepoints"
    assert is_inside(root, root)
    assert is_inside(root, f"{root}/team/")
    for wanted in (
        "s3a://bucket/savepointsx",
        "s3a://other/savepoints",
        "s3://bucket/savepoints",
        f"{root}/../x",
    ):
        assert not is_inside(root, wanted), wanted
    for wanted in (f"{root}/%2e%2e/x", f"{root}/a?x=1", f"{root}/a#b", "/savepoints", f"{root}//a"):
        assert not is_inside(root, wanted), wanted


def test_without_a_root_nothing_is_trusted():
    with pytest.raises(Refusal, match=r"Property \[target-directory\] must be provided") as refused:
        resolve_directory(None, None, "target-directory")
    assert refused.value.status == 400
    with pytest.raises(Refusal, match=r"Set checkpointing\.savepoint-dir"):
        resolve_directory(None, "/tmp", "target-directory")


def test_without_a_root_a_granted_directory_is_taken_and_no_other():
    assert resolve_directory(None, "/data/x", "target-directory", {"/data/x"}) == "/data/x"
    for wanted in ("/data", "/data/x/y", None):
        with pytest.raises(Refusal, match="is not set"):
            resolve_directory(None, wanted, "target-directory", {"/data/x"})


def test_a_configured_root_binds_grants_too():
    with pytest.raises(Refusal, match="must be inside"):
        resolve_directory("/savepoints", "/data/x", "target-directory", {"/data/x"})


def test_the_configured_one_is_the_default():
    assert resolve_directory("/savepoints", None, "targetDirectory") is None
    with pytest.raises(Refusal, match="must be inside"):
        resolve_directory("/savepoints", "/etc", "targetDirectory")
