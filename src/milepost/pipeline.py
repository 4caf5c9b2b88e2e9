"""Config -> source -> transform -> sink, as one query that is checked but not started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from milepost import transform
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.spark_log import CompletedBatch, initial_offsets, newest_completed
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions.versions import Versions
from milepost.config import Config, KafkaSource
from milepost.config.source import PythonFormat
from milepost.engine import java_map, jvm
from milepost.errors import MilepostError, PreflightError
from milepost.sink import versioning
from milepost.sink.choose import create_stage
from milepost.sink.hbase import HBaseStage
from milepost.sink.stage import SinkStage
from milepost.source import (
    kafka,
    multiple_sources,
    watermark,
)
from milepost.source import start_offsets as starts
from milepost.source import (
    topic_facts as facts,
)
from milepost.source.positions import merge_offsets
from milepost.source.start_offsets import StartPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The start-up plan: the findings, and what the job will do."""

    config: Config
    starts: Mapping[str, StartPlan]
    """The start offsets of each source, by its view."""
    sink: SinkStage
    """The sink, after its inspection."""
    topic_ids: Mapping[str, str]
    completed: CompletedBatch | None = None
    versions: Versions | None = None
    """The version eras so far, if the versions depend on them."""
    warnings: tuple[str, ...] = ()
    printed_before: frozenset[str] = frozenset()
    """Warnings about the sink that the previous start printed."""

    def after(self, before: Mapping[str, Any] | None) -> Plan:
        """Return the plan of a start that follows another one; `before` is the document of its plan."""
        printed = frozenset((before or {}).get("warnings", ()))
        return replace(self, printed_before=printed.intersection(self.sink.warnings))

    @property
    def new_warnings(self) -> tuple[str, ...]:
        """The warnings to print: those about the sink only once, all others at every start."""
        return tuple(warning for warning in self.warnings if warning not in self.printed_before)

    @property
    def start(self) -> StartPlan:
        """The start offsets of all sources."""
        return multiple_sources.combine_plans(self.starts.values())

    def document(self) -> dict[str, Any]:
        """Return the plan as a JSON document."""
        return {
            "resumed-from": self.start.resumed_from,
            "partitions": [asdict(each) for each in self.start.partitions],
            "topic-ids": dict(self.topic_ids),
            "guarded-table": self.sink.guarded_table if isinstance(self.sink, HBaseStage) else None,
            "summary": self.summary(),
            "warnings": list(self.warnings),
        }

    def summary(self) -> list[str]:
        """Return the summary of the job as lines of text."""
        checkpointing = self.config.checkpointing
        interval = checkpointing.interval.total_seconds()
        schedule = f"a checkpoint every {interval:g} s" if interval else "checkpoints back to back"
        return [
            f"{checkpointing.execution}, {checkpointing.mode}, {schedule}",
            self.sink.summary(),
            f"checkpoints in {checkpointing.dir}",
            _savepoints(checkpointing.savepoint_dir),
        ]


def _savepoints(directory: str | None) -> str:
    if directory is None:
        return "no savepoint-dir: `stop` and `savepoint create` need --savepoint-dir"
    return f"savepoints in {directory}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A checked query: the rows for the sink, and its options."""

    plan: Plan
    rows: DataFrame
    sink_options: dict[str, str]
    order: tuple[str, ...]
    """The views of the sources, in the order of Spark's offset log."""


def inspect(
    spark: SparkSession,
    config: Config,
    place: Store | None,
    folder: Path | None = None,
    discarded: Mapping[str, str] | None = None,
) -> Plan:
    """Inspect Kafka, the sink and the checkpoint directory, and plan the start; refuse a job that cannot work.

    `discarded` has the topic ids of the state that a fresh start discards.
    """
    initial = initial_offsets(place) if place is not None else None
    known = {view: _topics(spark, config, view, initial) for view in config.views}
    multiple_sources.require_own_topics(known)
    completed = newest_completed(place) if place is not None else None
    recorded = identity.recorded(place) if place is not None else {}
    if initial is None:
        recorded |= discarded or {}
    begun = _starts(config, known, completed, initial, recorded)
    sink = create_stage(config, partial(transform.load_function, search=folder)).inspect(spark)
    if config.checkpointing.execution == "real-time":
        _require_cores(spark, sum(len(start.partitions) for start in begun.values()))
    topic_ids = {name: topic.topic_id for facts in known.values() for name, topic in facts.topics.items()}
    return Plan(
        config=config,
        starts=begun,
        sink=sink,
        topic_ids=topic_ids,
        completed=completed,
        warnings=(*sink.warnings, *_topic_warnings(config, known), *_memory_warning(config)),
    )


def _topic_warnings(config: Config, known: Mapping[str, facts.KafkaFacts]) -> Iterator[str]:
    types = {name: topic.timestamp_type for each in known.values() for name, topic in each.topics.items()}
    return versioning.topic_warnings(types, config)


def _memory_warning(config: Config) -> Iterator[str]:
    """Yield a warning if the state does not survive the process."""
    if config.checkpointing.state_backend == "memory":
        yield (
            "state-backend is memory: the state of this job is lost when its process ends. The next start sets the "
            "checkpoints aside and starts from scratch, with empty state. To keep the state, take a savepoint, or use "
            "state-backend rocksdb or filesystem."
        )


def build(
    spark: SparkSession,
    plan: Plan,
    engine_job: Any,
    transformation: transform.Transformation | None,
    folder: Path,
) -> Query:
    """Return the query of a plan, analyzed but not started."""
    config, sink = plan.config, plan.sink
    # A transformation may change the row key, so the source knows it only without a transformation.
    is_transformed = transformation is not None or config.transform is not None
    changes = kafka.change_options(() if is_transformed else sink.key_columns, sink.nulls)
    views = {view: _view(spark, plan, view, engine_job, folder, changes) for view in config.views}
    function, key = _transformation(spark, config, transformation, folder, views)
    rows = _count_late(_carry_origin(spark, transform.apply(function, views, key)), engine_job)
    selected = sink.select(rows, kafka.ORIGIN)
    source_order = jvm(spark).io.milepost.plan.SourceOrder
    order = tuple(source_order.of(selected._jdf))  # noqa: SLF001 - PySpark has no public access to Java
    multiple_sources.require_all_read(order, config.views)
    watermark.require_one(selected, key)
    if plan.completed is not None:
        multiple_sources.require_same_order(order, plan.completed.sources, config.views)
    # A row may come from any source; the configuration requires the same policy for all.
    source = next(iter(config.views.values()))
    options = (
        kafka.client_options(source)
        | kafka.policy_options(source)
        | sink.options()
        | {"job": engine_job.id()}
    )
    if plan.versions is not None and versioning.version_of(config) == "checkpoint":
        options["generation"] = str(plan.versions.generation)
    sink.require_writable(selected, options)
    engine_job.expectSources(source_order.distinct(selected._jdf))  # noqa: SLF001 - PySpark has no public access to Java
    return Query(plan=plan, rows=selected, sink_options=options, order=order)


def require_guard_kept(plan: Plan, before: Mapping[str, Any] | None) -> None:
    """Refuse a guarded table without its guard; `before` is the plan of the last start, None for the first."""
    if isinstance(plan.sink, HBaseStage):
        plan.sink.require_guard_kept(before)


def topics(spark: SparkSession, source: KafkaSource) -> facts.KafkaFacts:
    """Return the facts about the topics of the source."""
    return _ask(spark, source, kafka.facts_options(source))


def _ask(spark: SparkSession, source: KafkaSource, question: dict[str, str]) -> facts.KafkaFacts:
    answer = jvm(spark).io.milepost.kafka.topic.KafkaFacts.describe(java_map(spark, question))
    return facts.parse_facts(answer, ",".join(source.bootstrap_servers))


def _topics(spark: SparkSession, config: Config, view: str, initial: Offsets | None) -> facts.KafkaFacts:
    source = config.views[view]
    question = kafka.facts_options(source) | kafka.connect_options(source)
    # The group offsets matter only for a fresh start.
    group = kafka.group_options(source) if initial is None else {}
    with named(config, view):
        return _ask(spark, source, question | group)


def _starts(
    config: Config,
    known: Mapping[str, facts.KafkaFacts],
    completed: CompletedBatch | None,
    initial: Offsets | None,
    recorded: Mapping[str, str],
) -> dict[str, StartPlan]:
    """Plan the start of each source."""
    offsets = {} if completed is None else merge_offsets(completed.sources)
    resumed = multiple_sources.split_offsets(offsets, config.views, known)
    first = multiple_sources.split_offsets(initial or {}, config.views, known)
    plans = {}
    for view, source in config.views.items():
        with named(config, view):
            if initial is not None:
                starts.require_same_topics(_read_by(source, recorded), known[view])
            done = None if completed is None else CompletedBatch(completed.batch_id, (resumed[view],))
            trusted = facts.disown_group_offsets(known[view], recorded)
            plans[view] = kafka.plan_start(source, trusted, done, first[view] or None)
    return plans


def _read_by(source: KafkaSource, topic_ids: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of the topics that a source reads with its current configuration."""
    return {topic: topic_id for topic, topic_id in topic_ids.items() if source.reads(topic)}


@contextmanager
def named(config: Config, view: str) -> Iterator[None]:
    """Rewrite keys in errors about one of several sources to their path in the file."""
    try:
        yield
    except MilepostError as error:
        if config.source is not None:
            raise
        raise error.map_text(
            lambda text: text.replace("source.kafka", f"sources.{view}.kafka")
        ) from error.__cause__


def _view(
    spark: SparkSession,
    plan: Plan,
    view: str,
    engine_job: Any,
    folder: Path,
    changes: Mapping[str, str],
) -> DataFrame:
    """Return the rows of one source for the transformation."""
    source = plan.config.views[view]
    key_column = kafka.tombstone_column(source, plan.sink.key_columns)
    with named(plan.config, view):
        start = plan.starts[view]
        ids = {topic: plan.topic_ids[topic] for topic in start.offsets()}
        place = {"job": engine_job.id(), "view": view, "topic-ids": json.dumps(ids), **changes}
        if versioning.version_of(plan.config) == "offset":
            transition = source.partition_growth.transition.total_seconds()
            place["transition-ms"] = str(int(transition * 1000))
        records = kafka.read(spark, source, start, place=place, key_column=key_column)
        _require_key_column(source, records)
        decoded = _decode(spark, source, records, engine_job, folder, key_column)
        return watermark.apply(
            decoded,
            source.watermark,
            origin=kafka.ORIGIN,
            partitions=start.offsets(),
            clock=f"{engine_job.id()}/{view}",
        )


def _decode(
    spark: SparkSession,
    source: KafkaSource,
    records: DataFrame,
    engine_job: Any,
    folder: Path,
    key_column: str | None,
) -> DataFrame:
    if not isinstance(source.format, PythonFormat):
        return records
    function = transform.load_function(source.format.python, "source.kafka.format.python", folder)
    options = java_map(spark, kafka.client_options(source) | kafka.policy_options(source))
    session = spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
    reject = jvm(spark).io.milepost.record.RejectFunction
    reject.register(session, kafka.REJECT, options, engine_job.rejected())
    schema = StructType.fromDDL(source.record_schema or "")
    return kafka.decode_with_python(records, cast(StructType, schema), function, key_column)


def _transformation(
    spark: SparkSession,
    config: Config,
    given: transform.Transformation | None,
    folder: Path,
    views: Mapping[str, DataFrame],
) -> tuple[transform.Transformation, str]:
    if given is not None:
        return given, "transform"
    if config.transform is None:
        if len(views) > 1:
            raise PreflightError(
                "transform is required, because the job has several sources",
                why=f"it is not defined how to combine {', '.join(views)} into the rows of one sink",
                fix="Add transform.sql, for example a UNION ALL of the views, or transform.python",
            )
        return transform.identity, "transform"
    if config.transform.sql is not None:
        return transform.from_sql(spark, config.transform.sql, views), "transform.sql"
    reference = config.transform.python or ""
    return transform.load_function(reference, "transform.python", folder), "transform.python"


def _carry_origin(spark: SparkSession, rows: DataFrame) -> DataFrame:
    carried = jvm(spark).io.milepost.plan.OriginColumn.carry(rows._jdf)  # noqa: SLF001 - PySpark has no public access to Java
    return DataFrame(carried, spark)


def _count_late(rows: DataFrame, engine_job: Any) -> DataFrame:
    """Return the rows with a count of the late records that operators drop."""
    plan = jvm(rows.sparkSession).io.milepost.plan.LateRecordPlan
    return DataFrame(plan.count(rows._jdf, engine_job.late()), rows.sparkSession)  # noqa: SLF001 - PySpark has no public access to Java


def _require_key_column(source: KafkaSource, records: DataFrame) -> None:
    """Refuse a key-column that the records do not have: tombstones would have no row key."""
    if isinstance(source.format, PythonFormat):
        known = cast(StructType, StructType.fromDDL(source.record_schema or "")).names
    else:
        known = records.columns
    if source.key_column is not None and source.key_column not in known:
        raise PreflightError(
            f"source.kafka.key-column names {source.key_column!r}, which the records do not have",
            why=f"they have {', '.join(column for column in known if column != kafka.ORIGIN)}",
            fix="Name the column of source.kafka.schema that is the row key, or remove key-column",
        )


def _require_cores(spark: SparkSession, partitions: int) -> None:
    cores = spark.sparkContext.defaultParallelism
    if cores < partitions:
        raise PreflightError(
            f"execution: real-time requires a core for each of the {partitions} partitions, but Spark has {cores}",
            why="in real-time mode every partition is read by a long-running task",
            fix=f'Set spark.master to "local[{partitions}]" or more, or use execution: micro-batch',
        )
