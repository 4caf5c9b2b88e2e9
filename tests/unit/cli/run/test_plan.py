"""The start-up plan as it is printed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.cli.run import plan as plan_output
from milepost.cli.run.run_output import TextOutput
from milepost.config import Config
from milepost.pipeline import Plan
from milepost.sink.choose import create_stage
from milepost.sink.hbase import HBaseStage
from milepost.source.start_offsets import PartitionStart, StartPlan

SINK = {"hbase": {"quorum": "z:1", "table": "t", "row-key": ["id"], "columns": {"d": ["v"]}}}


def plan(*views: str) -> Plan:
    kafka = {view: {"kafka": {"bootstrap-servers": "b:1", "topics": f"topic-{view}"}} for view in views}
    sources: dict[str, Any] = {"sources": kafka} if len(views) > 1 else {"source": kafka[views[0]]}
    config = Config(name="job", sink=SINK, checkpointing={"dir": "/data", "mode": "at-least-once"}, **sources)
    starts = {
        view: StartPlan((PartitionStart(f"topic-{view}", 0, 5, "checkpoint 3", 9),), 3, None)
        for view in views
    }
    return Plan(
        config=config,
        starts=starts,
        sink=create_stage(config, lambda *_: list),
        topic_ids={},
        completed=CompletedBatch(3, ()),
    )


def test_one_source_needs_no_name(capsys: pytest.CaptureFixture[str]):
    plan_output.print_plan(plan("source"))
    title, head, row, *rest = capsys.readouterr().out.splitlines()
    assert title == "Start-up plan of job: from checkpoint 3"
    assert head.split() == ["topic", "partition", "starts", "at", "because", "end", "of", "log", "backlog"]
    assert row.split() == ["topic-source", "0", "5", "checkpoint", "3", "9", "4"]
    assert "at-least-once" in rest[0]


def test_several_sources_are_named(capsys: pytest.CaptureFixture[str]):
    plan_output.print_plan(plan("a", "b"))
    _, head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "source"
    assert [row.split()[:2] for row in rows[:2]] == [["a", "topic-a"], ["b", "topic-b"]]


def test_a_start_repeats_no_warning_about_the_table_that_the_last_start_printed(
    capsys: pytest.CaptureFixture[str],
):
    stage = plan("source").sink
    assert isinstance(stage, HBaseStage)
    stage = replace(stage, warnings=("about the table",))
    first = replace(plan("source"), sink=stage, warnings=(*stage.warnings, "about the state"))
    second = first.after(first.document())
    third = second.after(second.document())
    printed = []
    for each in (first.after(None), second, third, replace(third, sink=replace(stage, warnings=()))):
        TextOutput().show_plan(each)
        lines = capsys.readouterr().out.splitlines()
        printed.append([line.split("Warning: ")[1] for line in lines if "Warning: " in line])
    assert printed == [["about the table", "about the state"], *[["about the state"]] * 3]
    plan_output.print_plan(third)
    assert "about the table" in capsys.readouterr().out


def test_the_plan_says_where_savepoints_go_or_what_is_missing():
    without = plan("source")
    assert without.summary()[-1] == "no savepoint-dir: `stop` and `savepoint create` need --savepoint-dir"
    values = without.config.model_dump(by_alias=True, exclude_unset=True)
    values["checkpointing"]["savepoint-dir"] = "/data/savepoints"
    assert replace(without, config=Config(**values)).summary()[-1] == "savepoints in /data/savepoints"


def test_a_pipe_gets_long_names_whole(capsys: pytest.CaptureFixture[str]):
    name = "a_view_whose_name_is_as_long_as_names_become_in_practice"
    plan_output.print_plan(plan("a", name))
    assert f"topic-{name}" in capsys.readouterr().out
