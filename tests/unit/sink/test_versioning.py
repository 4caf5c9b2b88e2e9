from __future__ import annotations

import pytest

from milepost.config import Config
from milepost.config.hbase_sink import VersionColumn
from milepost.errors import PreflightError
from milepost.sink.table import FamilyFacts, TableFacts
from milepost.sink.versioning import (
    require_idempotent_writes,
    table_warnings,
    topic_warnings,
    version_of,
    version_word,
)

BY_ARRIVAL = FamilyFacts(new_version_behavior=True)


def facts(**families: FamilyFacts) -> TableFacts:
    return TableFacts(exists=True, families=families)


@pytest.mark.parametrize("version", ["offset", "checkpoint"])
def test_a_ttl_is_refused_where_versions_are_no_time(version: str):
    with pytest.raises(PreflightError, match=r"'d' \(TTL 60 s\) expires"):
        require_idempotent_writes("t", facts(d=FamilyFacts(ttl=60)), frozenset("d"), version)


@pytest.mark.parametrize("version", ["timestamp", "column:v", "server-time"])
def test_a_ttl_may_be_where_versions_are_times(version: str):
    require_idempotent_writes("t", facts(d=FamilyFacts(ttl=60)), frozenset("d"), version)


@pytest.mark.parametrize("version", ["offset", "checkpoint", "timestamp", "column:v"])
def test_deletes_that_hide_by_arrival_are_refused(version: str):
    with pytest.raises(PreflightError, match="'d' has NEW_VERSION_BEHAVIOR") as raised:
        require_idempotent_writes("t", facts(d=BY_ARRIVAL, e=FamilyFacts()), frozenset("de"), version)
    assert "alter 't', NAME => 'd', NEW_VERSION_BEHAVIOR => 'false'" in raised.value.fix


def test_they_do_no_harm_where_arrival_is_the_version_or_the_family_is_another():
    require_idempotent_writes("t", facts(d=BY_ARRIVAL), frozenset("d"), "server-time")
    require_idempotent_writes("t", facts(d=FamilyFacts(), other=BY_ARRIVAL), frozenset("d"), "offset")


def test_a_ttl_that_counts_from_a_column_is_told():
    expiring = facts(d=FamilyFacts(ttl=60), e=FamilyFacts())
    (warning,) = table_warnings("t", expiring, frozenset("de"), "column:v")
    assert "family 'd' expires cells by age" in warning
    assert "'v' is a time" in warning
    assert not list(table_warnings("t", expiring, frozenset("e"), "column:v"))
    assert not list(table_warnings("t", expiring, frozenset("d"), "timestamp"))


def config(version: str, *row_key: str) -> Config:
    sink = {"quorum": "h:1", "table": "t", "row-key": list(row_key or ("id",)), "columns": {"d": ["n"]}}
    return Config(
        name="n",
        source={
            "kafka": {"bootstrap-servers": "h:1", "topics": ["a"], "format": "json", "schema": "id STRING"}
        },
        sink={"hbase": sink | {"version": version}},
        checkpointing={"dir": "/nowhere"},
    )


def test_times_that_producers_set_are_told():
    (warning,) = topic_warnings({"a": "CreateTime"}, config("timestamp"))
    assert "topic 'a' are set by producers" in warning
    for harmless in ("LogAppendTime", None):
        assert not list(topic_warnings({"a": harmless}, config("timestamp")))
    assert not list(topic_warnings({"a": "CreateTime"}, config("offset")))


def test_several_topics_in_one_space_of_row_keys_are_told():
    topics = {"a": "LogAppendTime", "b": "LogAppendTime"}
    (warning,) = topic_warnings(topics, config("timestamp"))
    assert "2 topics" in warning
    assert not list(topic_warnings(topics, config("timestamp", "_kafka.topic", "id")))


def test_the_version_is_spelt_as_the_engine_reads_it():
    assert version_of(config("checkpoint")) == "checkpoint"
    by_column = config("offset").sink.hbase.model_copy(update={"version": VersionColumn(column="v")})
    assert version_word(by_column) == "column:v"
