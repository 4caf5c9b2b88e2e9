"""Config -> source -> transform -> sink, as one query that is checked and not yet started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from milepost import transform
from milepost.checkpoint import identity
from milepost.checkpoint.layout import Layout
from milepost.checkpoint.sparklog import initial_offsets, newest_completed
from milepost.config import Config, HBaseSink, KafkaSource
from milepost.config.source import PythonFormat
from milepost.engine import java_map, jvm
from milepost.errors import PreflightError
from milepost.sink import hbase, table
from milepost.source import facts, kafka
from milepost.source import start as starts
from milepost.source.start import StartPlan

_VERSIONS_THAT_ARE_NO_TIME = ("offset", "checkpoint")
_OPERATION_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The start-up plan: what was found, and what will be done."""

    config: Config
    start: StartPlan
    table_exists: bool
    topic_ids: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def summary(self) -> list[str]:
        """Return what the job will do, in lines for a person."""
        checkpointing, sink = self.config.checkpointing, self.config.sink.hbase
        interval = checkpointing.interval.total_seconds()
        regions = (
            ""
            if self.table_exists or sink.create_table is None
            else (f" (will be created with {sink.create_table.regions} regions)")
        )
        return [
            f"{checkpointing.execution}, a checkpoint every {interval:g} s"
            if interval
            else f"{checkpointing.execution}, one checkpoint after the other",
            f"into table {sink.table}{regions}, row key {', '.join(sink.row_key)}, "
            f"version {hbase.version_word(sink)}, encoding {sink.encoding}",
            f"checkpoints in {checkpointing.dir}",
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A checked query: its rows for the sink, and the sink's options."""

    plan: Plan
    rows: DataFrame
    sink_options: dict[str, str]


def inspect(spark: SparkSession, config: Config, layout: Layout | None) -> Plan:
    """Ask Kafka, HBase and the checkpoint directory, and decide the start; refuse what cannot work."""
    source, sink = source_of(config), config.sink.hbase
    known = topics(spark, source)
    completed = newest_completed(layout) if layout is not None else None
    initial = initial_offsets(layout) if layout is not None else None
    if layout is not None and initial is not None:
        starts.require_same_topics(identity.recorded(layout), known)
    start = kafka.plan_start(source, known, completed, initial)
    found = table_facts(spark, config)
    if found.exists or sink.create_table is None:
        table.require_usable(sink.table, found, hbase.families(sink))
        if sink.version in _VERSIONS_THAT_ARE_NO_TIME:
            table.require_no_ttl(sink.table, found, hbase.families(sink), hbase.version_word(sink))
    elif not found.namespace_exists:
        table.require_usable(sink.table, found, hbase.families(sink))
    if config.checkpointing.execution == "real-time":
        _require_cores(spark, len(start.partitions))
    topic_ids = {name: topic.topic_id for name, topic in known.topics.items()}
    return Plan(config=config, start=start, table_exists=found.exists, topic_ids=topic_ids)


def build(
    spark: SparkSession,
    plan: Plan,
    engine_job: Any,
    transformation: transform.Transformation | None,
    folder: Path,
) -> Query:
    """Return the query of a plan; Spark has analyzed it, and nothing runs yet."""
    config = plan.config
    source, sink = source_of(config), config.sink.hbase
    key_column = kafka.tombstone_column(source, sink.row_key)
    records = kafka.read(spark, source, plan.start, job_id=engine_job.id(), key_column=key_column)
    _require_key_column(source, records)
    decoded = _decode(spark, source, records, engine_job, folder, key_column)
    function, key = _transformation(spark, config, transformation, folder)
    rows = _carry_origin(spark, transform.apply(function, decoded, key))
    selected = hbase.select(rows, sink, kafka.ORIGIN)
    options = (
        kafka.client_options(source)
        | kafka.policy_options(source)
        | hbase.write_options(sink)
        | {"job": engine_job.id(), "operation-timeout-ms": _operation_timeout(config)}
    )
    _require_writable(spark, selected, options)
    return Query(plan=plan, rows=selected, sink_options=options)


def create_table(spark: SparkSession, plan: Plan) -> Plan:
    """Create the sink's table where it is wanted and missing."""
    sink = plan.config.sink.hbase
    if plan.table_exists or sink.create_table is None:
        return plan
    names = jvm(spark).java.util.ArrayList()
    for family in sorted(hbase.families(sink)):
        names.add(family)
    options = java_map(spark, hbase.mapping_options(sink))
    inspector = jvm(spark).io.milepost.hbase.HBaseInspector
    table.require_created(
        sink.table, inspector.createTable(options, names, sink.create_table.regions), _where(sink)
    )
    return replace(plan, table_exists=True)


def source_of(config: Config) -> KafkaSource:
    """Return the one source of a pipeline."""
    (source,) = config.views.values()
    return source


def topics(spark: SparkSession, source: KafkaSource) -> facts.KafkaFacts:
    """Ask the broker about the source's topics."""
    answer = jvm(spark).io.milepost.kafka.KafkaFacts.describe(java_map(spark, kafka.facts_options(source)))
    return facts.parse_facts(answer, ",".join(source.bootstrap_servers))


def table_facts(spark: SparkSession, config: Config) -> table.TableFacts:
    """Ask HBase about the sink's table."""
    sink = config.sink.hbase
    options = java_map(spark, hbase.connection_options(sink))
    return table.parse_facts(jvm(spark).io.milepost.hbase.HBaseInspector.describe(options), _where(sink))


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
    session = spark._jsparkSession  # noqa: SLF001 - PySpark's door to Java
    reject = jvm(spark).io.milepost.record.RejectFunction
    reject.register(session, kafka.REJECT, options, engine_job.rejected())
    schema = StructType.fromDDL(source.record_schema or "")
    return kafka.decode_with_python(records, cast(StructType, schema), function, key_column)


def _transformation(
    spark: SparkSession, config: Config, given: transform.Transformation | None, folder: Path
) -> tuple[Callable[[DataFrame], DataFrame], str]:
    (view,) = config.views
    if given is not None:
        return given, "transform"
    if config.transform is None:
        return transform.identity, "transform"
    if config.transform.sql is not None:
        return transform.from_sql(spark, config.transform.sql, view), "transform.sql"
    reference = config.transform.python or ""
    return transform.load_function(reference, "transform.python", folder), "transform.python"


def _carry_origin(spark: SparkSession, rows: DataFrame) -> DataFrame:
    carried = jvm(spark).io.milepost.plan.OriginColumn.carry(rows._jdf)  # noqa: SLF001 - PySpark's door to Java
    return DataFrame(carried, spark)


def _where(sink: HBaseSink) -> str:
    return sink.site if sink.site is not None else ",".join(sink.quorum or ())


def _require_key_column(source: KafkaSource, records: DataFrame) -> None:
    """Refuse a key-column that no record has: every tombstone would be without a row key."""
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


def _require_writable(spark: SparkSession, rows: DataFrame, options: Mapping[str, str]) -> None:
    """Refuse rows whose types the sink cannot write as it is told to."""
    schema = rows._jdf.schema()  # noqa: SLF001 - PySpark's door to Java
    fault = jvm(spark).io.milepost.hbase.WriteCheck.fault(java_map(spark, options), schema)
    if fault is not None:
        raise PreflightError(
            "The rows cannot be written in the way sink.hbase says",
            why=fault,
            fix="Correct sink.hbase, or the types in the schema or the transformation",
        )


def _operation_timeout(config: Config) -> str:
    """Return how long HBase's client may try, in ms: less than a checkpoint may take, so that it can say why."""
    return str(int(min(config.checkpointing.timeout.total_seconds() * 0.8, _OPERATION_TIMEOUT) * 1000))


def _require_cores(spark: SparkSession, partitions: int) -> None:
    cores = spark.sparkContext.defaultParallelism
    if cores < partitions:
        raise PreflightError(
            f"execution: real-time needs a core for each of the {partitions} partitions, and Spark has {cores}",
            why="in real-time mode every partition is read by a task that runs all the time",
            fix=f'Set spark.master to "local[{partitions}]" or more, or use execution: micro-batch',
        )
