"""Registers a job as a writer of its HBase table, and keeps the entry up to date."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from milepost.checkpoint.stats.failure import fenced
from milepost.config import HBaseSink
from milepost.engine import java_list, java_map, jvm
from milepost.errors import LeaseHeldError
from milepost.sink import table
from milepost.sink.hbase import HBaseStage, connection_options, where
from milepost.sink.versioning import version_word
from milepost.sink.writers import TABLE, Writer


def writer_of(sink: HBaseSink, *, name: str, directory: str, job_id: str, since: str) -> Writer:
    """Return the registry entry of a job, without topics and versions, which are not known yet."""
    return Writer(
        name=name,
        directory=directory,
        job_id=job_id,
        since=since,
        columns={family: tuple(sorted(columns)) for family, columns in sink.columns.items()},
        delete=sink.delete,
        version=version_word(sink),
        guard=sink.guard,
        is_shared=sink.shared,
    )


def registry_warning(sink: HBaseSink, refusal: str) -> str:
    """Return the warning for a cluster that denies this user access to the registry."""
    return (
        f"HBase denies this user access to table {TABLE!r} ({refusal}), so a second pipeline that writes table "
        f"{sink.table!r} will not be detected. An administrator can create the table and grant RW on it: docs/hbase.md."
    )


class TableClaim:
    """The registry entry of a running job."""

    def __init__(self, spark: SparkSession, stage: HBaseStage, writer: Writer) -> None:
        """Take an entry that `claim` has registered."""
        options = java_map(spark, stage.client_options())
        self._engine: Any = jvm(spark).io.milepost.hbase.table.TableClaim(
            options, writer.key, writer.document()
        )
        self._writer = writer

    def watch(self, engine_job: Any) -> None:
        """Have the engine confirm the entry in step 6 of each checkpoint of an attempt."""
        engine_job.setWriterWatch(self._engine)

    def keep_versions(self, topics: str) -> None:
        """Record the version eras that the engine has started, before anything is written with them."""
        self._writer = replace(self._writer, eras=json.loads(topics))
        fault = self._engine.update(self._writer.document())
        if fault is not None:
            raise fenced(fault)


def claim(spark: SparkSession, stage: HBaseStage, writer: Writer, replaced: Sequence[Writer]) -> TableClaim:
    """Register the job in place of others, or refuse if another was faster. PermissionError: HBase denies it."""
    sink, revision = stage.sink, stage.registry.revision
    others = java_list(spark, sorted({each.key for each in replaced} - {writer.key}))
    options = java_map(spark, connection_options(sink))
    engine = jvm(spark).io.milepost.hbase.table.WriterRegistry
    answer = json.loads(engine.claim(options, revision, writer.key, writer.document(), others))
    error = answer.get("error") or {}
    if error.get("kind") == "access-denied":
        raise PermissionError(error.get("message", ""))
    if not table.parse_answer(json.dumps(answer), where(sink))["claimed"]:
        raise LeaseHeldError(
            f"Another job claimed table {sink.table!r} while this one was starting",
            why="both were started at the same time",
            fix="Start again: the start-up plan shows whether the table is available",
        )
    return TableClaim(spark, stage, writer)
