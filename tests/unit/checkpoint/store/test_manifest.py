"""A checkpoint comes back from its manifest as it was, or not at all."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.checkpoint.model import Acknowledgement, CheckpointId, CompletedCheckpoint, Trigger, Value
from milepost.checkpoint.store.manifest import from_json, offsets_to_json, to_json
from milepost.errors import PreflightError

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)


def checkpoint(**changes: Value) -> CompletedCheckpoint:
    fields: dict[str, Value] = {
        "checkpoint_id": CheckpointId(7),
        "trigger": Trigger.ON_DEMAND,
        "triggered_at": NOW,
        "completed_at": NOW + timedelta(seconds=2),
        "job_id": "j",
        "epoch": 3,
        "sources": ({"orders": {0: 80, 1: 79}}, {}),
        "topic_ids": {"orders": "qX4"},
        "acknowledgements": (
            Acknowledgement(
                participant="writer/0", at=NOW, duration_ms=5, rows=2, bytes=9, details={"a": [1]}
            ),
        ),
        "states": {
            "counter": b"\x00\xff",
            "log": {"id": 5, "ü": [None, 1.5, True]},
            "empty": b"",
            "none": None,
        },
        "extra": {"ticket": "M-1"},
    }
    return CompletedCheckpoint(**(fields | changes))


def test_everything_comes_back():
    assert from_json(to_json(checkpoint())) == checkpoint()


def test_counts_of_records_are_there_where_there_are_any():
    counts = {"rejected": {"MALFORMED": 2}, "late": {"orders": 3}, "late_total": {"orders": 500}}
    counted = checkpoint(**counts)
    assert from_json(to_json(counted)) == counted
    keys = {"rejected-records", "late-records", "late-records-total"}
    assert keys <= json.loads(to_json(counted))["checkpoint"].keys()
    assert not keys & json.loads(to_json(checkpoint()))["checkpoint"].keys()


def test_it_is_plain_json_with_a_version():
    document = json.loads(to_json(checkpoint()))
    assert document["format"] == 1
    assert document["checkpoint"]["id"] == 7
    assert document["checkpoint"]["sources"] == [{"orders": {"0": 80, "1": 79}}, {}]
    assert document["checkpoint"]["states"]["counter"] == {"base64": "AP8="}
    assert document["checkpoint"]["extra"] == {"ticket": {"json": "M-1"}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=8,
)


@given(states=st.dictionaries(st.text(), st.binary() | json_values, max_size=3))
def test_any_state_comes_back(states: dict[str, Value]):
    assert from_json(to_json(checkpoint(states=states))).states == states


@settings(max_examples=300)
@given(data=st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject):
    whole = to_json(checkpoint())
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    with suppress(PreflightError):
        assert from_json(changed) == checkpoint()


@given(data=st.data())
def test_no_cut_goes_unnoticed(data: st.DataObject):
    whole = to_json(checkpoint())
    # Only the last line feed says nothing.
    cut = whole[: data.draw(st.integers(0, len(whole) - 2))]
    with pytest.raises(PreflightError, match="damaged"):
        from_json(cut)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"[]", "expected form"),
        (b"{}", "it has no 'format'"),
        (b'{"format": 2}', "its format is 2, and 1 is the one we know"),
        (b'{"format": 1, "sha256": "0", "checkpoint": {}}', "its checksum is not that of its content"),
        (b"\xff", "it is not text"),
        (b"[" * 100_000, "expected form"),
    ],
)
def test_a_damaged_manifest_is_refused_under_its_name(data: bytes, why: str):
    with pytest.raises(PreflightError, match=r"checkpoints/7.json is damaged") as raised:
        from_json(data, "checkpoints/7.json")
    assert why in raised.value.why
    assert "on-damage" in raised.value.fix


@pytest.mark.parametrize(
    ("value", "error"), [(object(), TypeError), (float("nan"), ValueError), ([b""], TypeError)]
)
def test_what_json_cannot_say_is_not_written(value: Value, error: type[Exception]):
    with pytest.raises(error):
        to_json(checkpoint(states={"bad": value}))


def test_offsets_are_written_as_spark_writes_them():
    assert offsets_to_json({"t": {10: 1, 9: 2}}) == {"t": {"9": 2, "10": 1}}
