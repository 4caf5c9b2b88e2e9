"""Errors say what, why and how to fix, and carry what faces need."""

from __future__ import annotations

import pickle

import pytest

from milepost import errors
from milepost.errors import ConfigError, ConfigFault, MilepostError, PreflightError, SnapshotExpired

EXIT_CODES = {
    "ConfigError": 2,
    "PreflightError": 2,
    "NotReachableError": 3,
    "LeaseHeldError": 3,
    "FencedError": 3,
    "JobFailedError": 1,
    "FatalJobError": 1,
    "TopicRecreatedError": 1,
    "StorageError": 1,
    "WriteExpiredError": 1,
    "UnknownTopicError": 1,
    "CheckpointError": 1,
    "ParticipantError": 1,
    "SnapshotDeclined": 1,
    "SnapshotExpired": 1,
    "SavepointError": 1,
    "SavepointInProgressError": 1,
    "ServicesError": 1,
    "VerificationError": 4,
}


def test_message_joins_what_why_and_fix_as_sentences():
    error = MilepostError("Table orders is missing", why="No such table!", fix="Create it")
    assert str(error) == "Table orders is missing. No such table! Create it."


def test_message_leaves_out_what_is_not_known():
    assert str(MilepostError("It broke.")) == "It broke."


@pytest.mark.parametrize(("name", "code"), EXIT_CODES.items())
def test_every_error_has_its_exit_code(name: str, code: int):
    kind = getattr(errors, name)
    assert kind.exit_code == code
    assert isinstance(kind.retryable, bool)


def test_every_error_is_in_the_tree():
    kinds = {
        k.__name__ for k in vars(errors).values() if isinstance(k, type) and issubclass(k, MilepostError)
    }
    assert kinds == {*EXIT_CODES, "MilepostError"}
    assert all(f"{name} " in (errors.__doc__ or "") + " " for name in EXIT_CODES)


def test_config_error_lists_every_fault_on_a_line():
    error = ConfigError(
        "a.yaml is wrong", faults=[ConfigFault("a.b", "is odd", 3), ConfigFault("", "is empty")]
    )
    assert str(error).splitlines() == ["a.yaml is wrong.", "  - a.b (line 3): is odd", "  - is empty"]


def test_fault_without_a_key_names_the_line():
    assert str(ConfigFault("", "there is a tab", 2)) == "(line 2): there is a tab"


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(ConfigError("x", why="y", fix="z", faults=[ConfigFault("a", "b")])))  # noqa: S301
    assert (type(error), str(error), error.faults) == (
        ConfigError,
        "x. Y. Z.\n  - a: b",
        (ConfigFault("a", "b"),),
    )


def test_text_can_be_changed_and_the_kind_stays():
    error = PreflightError("the password hunter2", why="hunter2", fix="not hunter2")
    masked = error.map_text(lambda text: text.replace("hunter2", "******"))
    assert isinstance(masked, PreflightError)
    assert "hunter2" not in str(masked)
    assert error.why == "hunter2"


def test_a_participants_error_keeps_their_names_when_it_travels():
    error = SnapshotExpired("late", why="w", fix="f", participants=["a", "b"])
    travelled = pickle.loads(pickle.dumps(error))  # noqa: S301
    masked = error.map_text(str.upper)
    assert isinstance(masked, SnapshotExpired)
    assert (travelled.participants, masked.participants) == (("a", "b"), ("a", "b"))
    assert travelled.retryable
