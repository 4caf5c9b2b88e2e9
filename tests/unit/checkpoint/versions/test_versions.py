"""What a directory remembers of versions, and how a job goes on from it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from milepost.checkpoint.store.layout import VERSIONS
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.checkpoint.versions.versions import (
    Topic,
    Versions,
    continued,
    from_scratch,
    raised,
    record,
    record_topics,
    recorded,
    restored,
    resumed,
)
from milepost.errors import PreflightError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NOW_MS = 1_767_225_600_000
ORDERS = {"orders": Topic("id-1", 2)}


def eras(versions: Versions, topic: str = "orders") -> list[tuple[int, str]]:
    return [(era["generation"], era["order"]) for era in versions.topics[topic]["eras"]]


def grown(versions: Versions) -> Versions:
    more: dict[str, Any] = json.loads(json.dumps(versions.topics))
    more["orders"]["eras"].append({"generation": 1, "order": "time", "from": {}, "since": 1, "until": 9})
    return Versions(generation=versions.generation, topics=more)


def test_a_first_start_begins_with_generation_0() -> None:
    first = from_scratch(None, ORDERS, NOW)
    assert first == Versions(
        topics={
            "orders": {
                "id": "id-1",
                "begun": NOW_MS,
                "eras": [{"generation": 0, "order": "offset", "from": {"0": 0, "1": 0}}],
            }
        }
    )
    assert first.begun() == NOW


def test_the_same_topic_read_anew_keeps_its_eras_and_checkpoints_get_a_new_generation() -> None:
    known = grown(from_scratch(None, ORDERS, NOW))
    again = from_scratch(known, ORDERS, NOW)
    assert again.topics == known.topics
    assert again.generation == 1


def test_a_topic_that_was_created_again_is_above_all_that_was_written() -> None:
    known = grown(from_scratch(None, ORDERS, NOW))
    again = from_scratch(known, {"orders": Topic("id-2", 4)}, NOW)
    assert eras(again) == [(2, "offset")]
    assert again.topics["orders"]["id"] == "id-2"
    assert from_scratch(again, {"orders": Topic("id-2", 4)}, NOW).topics == again.topics, (
        "after a death in between"
    )


def test_a_topic_that_is_not_read_any_more_is_not_forgotten() -> None:
    known = grown(from_scratch(None, ORDERS, NOW))
    other = from_scratch(known, {"other": Topic("x", 1)}, NOW)
    assert eras(other) == [(0, "offset"), (1, "time")]
    assert eras(other, "other") == [(0, "offset")]


def test_a_job_that_resumes_goes_on_as_it_was() -> None:
    known = grown(from_scratch(None, ORDERS, NOW))
    assert resumed(known, {"orders": Topic("id-1", 9)}) == known
    more = resumed(known, {**ORDERS, "new": Topic("n", 3)})
    assert list(more.topics["new"]["eras"][0]["from"]) == ["0", "1", "2"]


def test_of_a_job_that_did_not_remember_nobody_knows_when_its_topic_grew() -> None:
    assert resumed(None, ORDERS).begun() == datetime(1970, 1, 1, tzinfo=timezone.utc)


def test_it_is_remembered_on_every_file_system(store: Store) -> None:
    assert recorded(store) is None
    first = from_scratch(None, ORDERS, NOW)
    record(store, first)
    assert recorded(store) == first
    record_topics(store, json.dumps(grown(first).topics))
    assert recorded(store) == grown(first)


def test_what_is_written_already_is_not_written_again(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    record(store, Versions(generation=3))
    file = store.path(VERSIONS)
    before = file.stat().st_ino
    record(store, Versions(generation=3))
    assert file.stat().st_ino == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": 2}',
        '{"format": 1, "generation": 0}',
        '{"format": 1, "generation": "x", "topics": {}}',
        '{"format": 1, "generation": 0, "topics": {"t": {}}}',
        '{"format": 1, "generation": 0, "topics": {"t": {"id": "a", "begun": 0, "eras": []}}}',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    store = LocalStore(tmp_path)
    record(store, Versions())
    store.path(VERSIONS).write_text(text)
    with pytest.raises(PreflightError, match=r"versions.json is damaged"):
        recorded(store)


# ---- from a savepoint ----

GROWN = {"generation": 1, "order": "offset", "from": {"0": 5, "1": 6, "2": 0}}


def saved(**changes: Any) -> Versions:
    era = {"generation": 0, "order": "offset", "from": {"0": 0, "1": 0}}
    return replace(
        Versions(generation=3, topics={"orders": {"id": "a", "begun": 1, "eras": [era]}}), **changes
    )


def test_records_have_the_versions_they_had_and_checkpoints_a_generation_of_their_own():
    found = restored(saved(), saved(generation=7), {"orders": Topic("a", 2)}, {"orders": {0: 5, 1: 6}})
    assert found.generation == 8
    assert found.topics == saved().topics


def test_eras_that_the_directory_has_begun_since_stay():
    eras = saved().topics["orders"]
    here = saved(topics={"orders": {**eras, "eras": [*eras["eras"], GROWN]}})
    found = restored(saved(), here, {"orders": Topic("a", 3)}, {"orders": {0: 2, 1: 2}})
    assert found.topics == here.topics


def test_elsewhere_a_topic_that_has_grown_gets_versions_above_all_that_may_be_there():
    found = restored(saved(), None, {"orders": Topic("a", 4)}, {"orders": {0: 2, 1: 3}})
    assert found.topics["orders"]["eras"][-1] == {
        "generation": 4,
        "order": "offset",
        "from": {"0": 2, "1": 3},
    }


def test_raised_versions_continue_where_the_job_begins_to_read() -> None:
    known = from_scratch(None, ORDERS, NOW)
    higher = raised(known, 3, {"orders": {0: 10, 1: 20, 2: 5}})
    assert eras(higher) == [(0, "offset"), (3, "offset")]
    assert higher.generation == 3
    # Not the partition that is new: the engine has yet to see that the topic has grown.
    assert higher.topics["orders"]["eras"][-1]["from"] == {"0": 10, "1": 20}


def test_a_transition_stays_one_when_it_is_raised() -> None:
    higher = raised(grown(from_scratch(None, ORDERS, NOW)), 4, {"orders": {0: 10}})
    assert eras(higher) == [(0, "offset"), (1, "time"), (4, "time")]
    assert higher.topics["orders"]["eras"][-1]["until"] == 9


def test_the_longer_of_two_memories_continues_and_a_contradiction_does_not() -> None:
    first = from_scratch(None, ORDERS, NOW).topics["orders"]
    second = grown(from_scratch(None, ORDERS, NOW)).topics["orders"]
    other = raised(from_scratch(None, ORDERS, NOW), 7, {}).topics["orders"]
    assert continued(first, second, is_known=True) == second
    assert continued(second, first, is_known=True) == second
    assert continued(other, second, is_known=True) is None
    assert continued(other, second, is_known=False) == second
    assert continued({**first, "id": "id-2"}, second, is_known=False) is None
