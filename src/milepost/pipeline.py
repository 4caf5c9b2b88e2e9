"""Config -> source -> transform -> sink, as one query that is checked and not yet started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from milepost import transform
from milepost.checkpoint.files import identity
from milepost.checkpoint.files.layout import OFFSETS
from milepost.checkpoint.files.sparklog import CompletedBatch, batch_ids, initial_offsets, newest_completed
from milepost.checkpoint.files.store import Place
from milepost.checkpoint.model import Offsets
from milepost.config import Config, HBaseSink, KafkaSource
from milepost.config.source import PythonFormat
from milepost.engine import java_map, jvm
from milepost.errors import MilepostError, PreflightError
from milepost.sink import hbase, table
from milepost.source import facts, kafka, several, watermark
from milepost.source import start as starts
from milepost.source.start import StartPlan

_VERSIONS_THAT_ARE_NO_TIME = ("offset", "checkpoint")
_OPERATION_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The start-up plan: what was found, and what will be done."""

    config: Config
    starts: Mapping[str, StartPlan]
    """Where each source begins, by its view."""
    table_exists: bool
    topic_ids: Mapping[str, str]
    completed: CompletedBatch | None = None
    warnings: tuple[str, ...] = ()

    @property
    def start(self) -> StartPlan:
        """Where all sources begin, as one."""
        return several.combined(self.starts.values())

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON can say it, to be stored."""
        return {
            "resumed-from": self.start.resumed_from,
            "partitions": [asdict(each) for each in self.start.partitions],
            "topic-ids": dict(self.topic_ids),
            "summary": self.summary(),
            "warnings": list(self.warnings),
        }

    def summary(self) -> list[str]:
        """Return what the job will do, in lines for a person."""
        checkpointing, sink = self.config.checkpointing, self.config.sink.hbase
        interval = checkpointing.interval.total_seconds()
        regions = (
            ""
            if self.table_exists or sink.create_table is None
            else (f" (will be created with {sink.create_table.regions} regions)")
        )
        pace = f"a checkpoint every {interval:g} s" if interval else "one checkpoint after the other"
        return [
            f"{checkpointing.execution}, {checkpointing.mode}, {pace}",
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
    order: tuple[str, ...]
    """The view of each source, in the order of Spark's offset log."""


def inspect(spark: SparkSession, config: Config, place: Place | None) -> Plan:
    """Ask Kafka, HBase and the checkpoint directory, and decide the start; refuse what cannot work."""
    sink = config.sink.hbase
    initial = initial_offsets(place) if place is not None else None
    known = {view: _topics(spark, config, view, initial) for view in config.views}
    several.require_own_topics(known)
    completed = newest_completed(place) if place is not None else None
    begun = _starts(config, known, completed, initial, place)
    found = table_facts(spark, config)
    if found.exists or sink.create_table is None:
        table.require_usable(sink.table, found, hbase.families(sink))
        if sink.version in _VERSIONS_THAT_ARE_NO_TIME:
            table.require_no_ttl(sink.table, found, hbase.families(sink), hbase.version_word(sink))
    elif not found.namespace_exists:
        table.require_usable(sink.table, found, hbase.families(sink))
    if config.checkpointing.execution == "real-time":
        _require_cores(spark, sum(len(start.partitions) for start in begun.values()))
    topic_ids = {name: topic.topic_id for facts in known.values() for name, topic in facts.topics.items()}
    return Plan(
        config=config, starts=begun, table_exists=found.exists, topic_ids=topic_ids, completed=completed
    )


def build(
    spark: SparkSession,
    plan: Plan,
    engine_job: Any,
    transformation: transform.Transformation | None,
    folder: Path,
) -> Query:
    """Return the query of a plan; Spark has analyzed it, and nothing runs yet."""
    config, sink = plan.config, plan.config.sink.hbase
    views = {view: _view(spark, plan, view, engine_job, folder) for view in config.views}
    function, key = _transformation(spark, config, transformation, folder, views)
    rows = _carry_origin(spark, transform.apply(function, views, key))
    selected = hbase.select(rows, sink, kafka.ORIGIN)
    source_order = jvm(spark).io.milepost.plan.SourceOrder
    order = tuple(source_order.of(selected._jdf))  # noqa: SLF001 - PySpark's door to Java
    several.require_all_read(order, config.views)
    watermark.require_one(selected, key)
    if plan.completed is not None:
        several.require_same_order(order, plan.completed.sources, config.views)
    # A row may come from any source; the configuration has seen to it that all of them have one policy.
    source = next(iter(config.views.values()))
    options = (
        kafka.client_options(source)
        | kafka.policy_options(source)
        | hbase.write_options(sink)
        | {"job": engine_job.id(), "operation-timeout-ms": _operation_timeout(config)}
    )
    _require_writable(spark, selected, options)
    engine_job.expectSources(source_order.distinct(selected._jdf))  # noqa: SLF001 - PySpark's door to Java
    return Query(plan=plan, rows=selected, sink_options=options, order=order)


def require_fresh_start_possible(plan: Plan, place: Place) -> None:
    """Refuse to begin anew where what is written then would hide behind what is in the table already."""
    sink = plan.config.sink.hbase
    fix = "Begin with another sink.hbase.table, and let readers change over to it"
    if sink.version == "checkpoint" and batch_ids(place, OFFSETS):
        raise PreflightError(
            "A job whose version is checkpoint cannot begin anew on its table",
            why="its checkpoints would be counted from 0 again, and HBase would keep showing the newer versions",
            fix=fix,
        )
    recreated = [t for t, known in identity.recorded(place).items() if plan.topic_ids.get(t, known) != known]
    if sink.version == "offset" and recreated:
        raise PreflightError(
            f"A job whose version is offset cannot begin anew on its table: topic {', '.join(recreated)} is another",
            why="it was deleted and created again, so its offsets begin at 0 and would hide behind the old ones",
            fix=fix,
        )


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


def topics(spark: SparkSession, source: KafkaSource) -> facts.KafkaFacts:
    """Ask the broker about the source's topics."""
    return _ask(spark, source, kafka.facts_options(source))


def _topics_and_group(spark: SparkSession, source: KafkaSource) -> facts.KafkaFacts:
    """Ask the broker about the topics, and where the group stands if a fresh start depends on it."""
    return _ask(spark, source, kafka.facts_options(source) | kafka.group_options(source))


def _ask(spark: SparkSession, source: KafkaSource, question: dict[str, str]) -> facts.KafkaFacts:
    answer = jvm(spark).io.milepost.kafka.KafkaFacts.describe(java_map(spark, question))
    return facts.parse_facts(answer, ",".join(source.bootstrap_servers))


def table_facts(spark: SparkSession, config: Config) -> table.TableFacts:
    """Ask HBase about the sink's table."""
    sink = config.sink.hbase
    options = java_map(spark, hbase.connection_options(sink))
    return table.parse_facts(jvm(spark).io.milepost.hbase.HBaseInspector.describe(options), _where(sink))


def _topics(spark: SparkSession, config: Config, view: str, initial: Offsets | None) -> facts.KafkaFacts:
    ask = _topics_and_group if initial is None else topics
    with _named(config, view):
        return ask(spark, config.views[view])


def _starts(
    config: Config,
    known: Mapping[str, facts.KafkaFacts],
    completed: CompletedBatch | None,
    initial: Offsets | None,
    place: Place | None,
) -> dict[str, StartPlan]:
    """Decide where each source begins."""
    recorded = identity.recorded(place) if place is not None and initial is not None else {}
    offsets = {} if completed is None else several.merged(completed.sources)
    resumed = several.shares(offsets, config.views, known)
    first = several.shares(initial or {}, config.views, known)
    plans = {}
    for view, source in config.views.items():
        with _named(config, view):
            starts.require_same_topics(recorded, known[view])
            done = None if completed is None else CompletedBatch(completed.batch_id, (resumed[view],))
            plans[view] = kafka.plan_start(source, known[view], done, first[view] or None)
    return plans


@contextmanager
def _named(config: Config, view: str) -> Iterator[None]:
    """Let errors about one of several sources name its keys as they are written."""
    try:
        yield
    except MilepostError as error:
        if config.source is not None:
            raise
        raise error.map_text(
            lambda text: text.replace("source.kafka", f"sources.{view}.kafka")
        ) from error.__cause__


def _view(spark: SparkSession, plan: Plan, view: str, engine_job: Any, folder: Path) -> DataFrame:
    """Return the rows that a transformation sees of one source."""
    source = plan.config.views[view]
    key_column = kafka.tombstone_column(source, plan.config.sink.hbase.row_key)
    with _named(plan.config, view):
        start = plan.starts[view]
        ids = {topic: plan.topic_ids[topic] for topic in start.offsets()}
        place = {"job": engine_job.id(), "view": view, "topic-ids": json.dumps(ids)}
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
    session = spark._jsparkSession  # noqa: SLF001 - PySpark's door to Java
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
                "transform is missing, and the job has several sources",
                why=f"nothing says how {', '.join(views)} become the rows of one table",
                fix="Add transform.sql, for example a UNION ALL of the views, or transform.python",
            )
        return transform.identity, "transform"
    if config.transform.sql is not None:
        return transform.from_sql(spark, config.transform.sql, views), "transform.sql"
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
