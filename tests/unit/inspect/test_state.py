"""Which views an operator's state has, and which checkpoint is looked into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.errors import NotReachableError
from milepost.inspect.state import (
    Operator,
    choose_checkpoint,
    require_state,
    session_settings,
    spark_path,
    unique_fields,
    unique_names,
)


def names(name: str, **properties: Any) -> dict[str, dict[str, str]]:
    return dict(Operator(3, name, properties).views())


def test_an_aggregation_is_one_view() -> None:
    assert names("stateStoreSave") == {"state_3": {"operatorId": "3"}}


def test_a_join_has_two_sides() -> None:
    assert names("symmetricHashJoin") == {
        "state_3_left": {"operatorId": "3", "joinSide": "left"},
        "state_3_right": {"operatorId": "3", "joinSide": "right"},
    }


def test_each_variable_of_transform_with_state_is_a_view() -> None:
    variables = [{"stateName": "last seen"}, {"stateName": "$procTimers_keyToTimestamp"}]
    views = names("transformWithStateInPySparkExec", stateVariables=variables, timeMode="NoTime")
    assert views == {"state_3_last_seen": {"operatorId": "3", "stateVarName": "last seen"}}


def test_timers_are_a_view_where_there_are_some() -> None:
    views = names("transformWithStateExec", stateVariables=[], timeMode="ProcessingTime")
    assert views == {"state_3_timers": {"operatorId": "3", "readRegisteredTimers": "true"}}


@pytest.fixture
def directory(tmp_path: Path) -> SparkDirectory:
    return SparkDirectory(tmp_path).batches(offsets=[4, 5, 6], commits=[4, 5])


def test_the_newest_completed_checkpoint_is_chosen(directory: SparkDirectory) -> None:
    assert choose_checkpoint(directory.store, None) == 5
    assert choose_checkpoint(directory.store, 4) == 4


@pytest.mark.parametrize("checkpoint_id", [3, 6])
def test_what_is_not_there_is_refused(directory: SparkDirectory, checkpoint_id: int) -> None:
    with pytest.raises(NotReachableError, match="Checkpoints 4 to 5 are available"):
        choose_checkpoint(directory.store, checkpoint_id)


def test_nothing_is_chosen_before_the_first_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(NotReachableError, match="no completed checkpoint"):
        choose_checkpoint(SparkDirectory(tmp_path).store, None)


def test_a_job_without_state_is_told_so(directory: SparkDirectory) -> None:
    with pytest.raises(NotReachableError, match="has no state"):
        require_state(directory.store)
    directory.write("state/0/0/1.delta", b"x")
    require_state(directory.store)


def test_only_local_directories_are_read_by_our_own_files() -> None:
    local, remote = session_settings("/data/orders"), session_settings("s3a://bucket/orders")
    assert local["spark.sql.runSQLOnFiles"] == remote["spark.sql.runSQLOnFiles"] == "false"
    assert local["spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"] == "true"
    assert set(local) - set(remote) == {"spark.sql.streaming.checkpointFileManagerClass"}


def test_a_path_that_spark_would_encode_twice_is_reached_by_a_link(tmp_path: Path) -> None:
    odd = tmp_path / "100% mine"
    odd.mkdir()
    (odd / "metadata").write_text("x")
    with spark_path(odd.as_uri()) as path:
        assert " " not in path
        assert (Path(path) / "metadata").read_text() == "x"
    assert not Path(path).exists()
    assert (odd / "metadata").exists()


@pytest.mark.parametrize("directory", ["/data/orders", "s3a://bucket/my orders"])
def test_other_paths_are_taken_as_they_are(directory: str) -> None:
    with spark_path(directory) as path:
        assert path == directory


def test_names_are_made_unique_by_a_number_that_no_other_name_has() -> None:
    assert unique_names(["a", "b"]) == ["a", "b"]
    assert unique_names(["count", "count", "Count", "count_2"]) == ["count", "count_3", "Count_4", "count_2"]


def test_fields_of_structs_are_unique_at_every_depth() -> None:
    twice = StructType([StructField("count", LongType(), nullable=False), StructField("count", LongType())])
    unique = "struct<count:bigint,count_2:bigint>"
    assert unique_fields(twice).simpleString() == unique
    nested = StructType([StructField("a", ArrayType(twice)), StructField("m", MapType(StringType(), twice))])
    assert unique_fields(nested).simpleString() == f"struct<a:array<{unique}>,m:map<string,{unique}>>"
