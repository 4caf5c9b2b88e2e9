"""The manifest of a savepoint: there and back, and what is refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.unit.checkpoint.savepoint.test_write import savepoint

from milepost.checkpoint.savepoint.manifest import SavedFile, from_json, name_of, to_json
from milepost.checkpoint.store.manifest import canonical
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

SUM = "a" * 64


def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(to_json(savepoint(Store.at("memory://m"))))
    made["savepoint"]["files"] = {"offsets/3": {"size": 5, "sha256": SUM}}
    return made


def signed(document: dict[str, Any]) -> bytes:
    document["sha256"] = hashlib.sha256(canonical(document["savepoint"]).encode()).hexdigest()
    return json.dumps(document).encode()


def test_there_and_back():
    made = from_json(signed(document()), "/moved/here")
    assert made.path == "/moved/here"
    assert made.files == {"offsets/3": SavedFile(5, SUM)}
    assert made.outline == {"sink": {"console": {}}}
    assert from_json(to_json(made), "/moved/here") == made


def test_the_name_is_made_as_flink_makes_it():
    assert name_of("6b1e2f000000", "0a1b2c3d4e5f6") == "savepoint-6b1e2f-0a1b2c3d4e5f"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a//b", "", ".", "a\\b", "C:x", "_metadata"])
def test_a_name_that_leads_out_is_refused(name: str):
    made = document()
    made["savepoint"]["files"][name] = {"size": 1, "sha256": SUM}
    with pytest.raises(PreflightError, match="not the manifest of a savepoint that can be used"):
        from_json(signed(made), "/s")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "its format is 2, and 1 is the one we know"),
        ({"sha256": "0" * 64}, "its checksum is not that of its content"),
        ({"savepoint": {}}, "its checksum"),
    ],
)
def test_what_is_newer_or_changed_is_refused(change: dict[str, Any], why: str):
    data = json.loads(signed(document())) | change
    with pytest.raises(PreflightError) as refused:
        from_json(json.dumps(data).encode(), "/s")
    assert why in refused.value.why


@pytest.mark.parametrize("wrong", [-1, "1", True, None, 1.5])
def test_a_size_that_is_none_is_refused(wrong: object):
    made = document()
    made["savepoint"]["files"]["offsets/3"]["size"] = wrong
    with pytest.raises(PreflightError):
        from_json(signed(made), "/s")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null"])
def test_garbage_is_refused(data: bytes):
    with pytest.raises(PreflightError):
        from_json(data, "/s")
