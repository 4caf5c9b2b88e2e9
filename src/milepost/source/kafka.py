"""Kafka topics -> DataFrame of decoded records: the options of the gated source, and the Python deserializer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, _make_type_verifier

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store.manifest import offsets_to_json
from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.config import KafkaSource
from milepost.config.source import DeadLetter, PythonFormat
from milepost.config.values.position import AtOffsets, AtTimestamp, UntilOffsets
from milepost.errors import PreflightError
from milepost.sentence import plain
from milepost.source import start_offsets as starts
from milepost.source.topic_facts import KafkaFacts, PartitionFacts

ORIGIN = "_kafka"
"""The column that says which record a row comes from."""

REJECT = "milepost_reject"
"""The SQL function that hands a record to the bad-record policy and answers false."""

_FAILURE = "_failure"

# Spark's reader asks the broker for both ends of the partition after each poll, and that throws away what was fetched
# beyond the polled records: with Kafka's 500 records and a megabyte most of a backlog is fetched many times over.
_READ_DEFAULTS = {"kafka.max.poll.records": "50000", "kafka.max.partition.fetch.bytes": str(4 << 20)}


def facts_options(source: KafkaSource) -> dict[str, str]:
    """Return the options of the question to the broker."""
    options = client_options(source) | policy_options(source)
    if source.topic_pattern is not None:
        options["topic-pattern"] = source.topic_pattern
    else:
        options["topics"] = ",".join(source.topics or ())
    if isinstance(source.start, AtTimestamp):
        options["timestamp-ms"] = _milliseconds(source.start.timestamp)
    if isinstance(source.stop, AtTimestamp):
        options["stop-timestamp-ms"] = _milliseconds(source.stop.timestamp)
    return options


def asking_options(source: KafkaSource) -> dict[str, str]:
    """Return how Kafka is asked at a start: it may take longer on a busy machine."""
    return {"connect-timeout-ms": str(int(source.connect_timeout.total_seconds() * 1000))}


def group_options(source: KafkaSource) -> dict[str, str]:
    """Return what the question needs where the start depends on the group; else the right to look at it may lack."""
    if source.start != "group-offsets" or source.group_id is None:
        return {}
    return {"group": source.group_id}


def plan_start(
    source: KafkaSource, facts: KafkaFacts, completed: CompletedBatch | None, initial: Offsets | None
) -> starts.StartPlan:
    """Decide where reading begins and ends; what Spark has on disk wins over everything that is configured."""
    starts.require_topics(source.topics or (), source.topic_pattern, facts)
    if isinstance(source.bad_records, DeadLetter):
        starts.require_dead_letter_topic(source.bad_records.dead_letter, facts)
    stop = _stop(source, facts)
    if completed is not None:
        return starts.resume(completed.batch_id, completed.sources[0], facts, stop)
    if initial is not None:
        return starts.begin_again(initial, facts, stop)
    return starts.fresh_start(_rule(source, facts), facts, stop)


def read(
    spark: SparkSession,
    source: KafkaSource,
    plan: starts.StartPlan,
    *,
    place: Mapping[str, str],
    key_column: str | None,
) -> DataFrame:
    """Return the stream of decoded records, which knows its place in the job; nothing is read by this."""
    options = record_options(source) | {
        **place,
        "startingOffsets": json.dumps(offsets_to_json(plan.offsets())),
        "failOnDataLoss": "true",
    }
    if isinstance(source.format, PythonFormat):
        key_column = "key"  # these are raw records; decode_with_python puts the key where it belongs
    if key_column is not None:
        options["tombstone-column"] = key_column
    if plan.stop is not None:
        options["stop-offsets"] = json.dumps(offsets_to_json(plan.stop))
    if source.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_offsets_per_trigger)
    try:
        return spark.readStream.format("milepost-kafka").options(**options).load()
    except IllegalArgumentException as error:
        raise PreflightError(
            "The records cannot be decoded in the way source.kafka says",
            why=plain(error.getMessage() or str(error)),
            fix="Correct source.kafka.schema or source.kafka.format",
        ) from error


def record_options(source: KafkaSource) -> dict[str, str]:
    """Return the options that say which topics are read and how records become columns."""
    options = _READ_DEFAULTS | client_options(source) | policy_options(source)
    if source.topic_pattern is not None:
        options["subscribePattern"] = source.topic_pattern
    else:
        options["subscribe"] = ",".join(source.topics or ())
    if isinstance(source.format, PythonFormat):
        options["format"] = "raw"
        return options
    options["format"] = source.format
    if source.record_schema is not None:
        options["schema"] = source.record_schema
    return options


def change_options(row_key: tuple[str, ...], nulls: str) -> dict[str, str]:
    """Return what the source of a change log knows of the sink; no row key where a transformation makes it."""
    return {"nulls": nulls} | ({"row-key": ",".join(row_key)} if row_key else {})


def tombstone_column(source: KafkaSource, row_key: tuple[str, ...]) -> str | None:
    """Return the column that takes the key of a record without a value.

    A tombstone has nothing but its key. Where the row key is one column of the records, it is that column; a
    transformation may rename it, and then `key-column` says which.
    """
    if source.format in ("raw", "string"):
        return "key"
    if source.key_column is not None:
        return source.key_column
    return row_key[0] if len(row_key) == 1 else None


def client_options(source: KafkaSource) -> dict[str, str]:
    """Return the Kafka client's properties as options of a data source."""
    return {f"kafka.{key}": value for key, value in source.client_properties.items()}


def policy_options(source: KafkaSource) -> dict[str, str]:
    """Return the bad-record policy as options of a data source."""
    if isinstance(source.bad_records, DeadLetter):
        return {"bad-records": "dead-letter", "bad-records.topic": source.bad_records.dead_letter}
    return {"bad-records": source.bad_records}


def decode_with_python(
    records: DataFrame, schema: StructType, function: Callable[..., Any], key_column: str | None
) -> DataFrame:
    """Return the rows that a user's deserializer makes of raw records; what it raises goes to the policy."""
    nullable = [StructField(field.name, field.dataType, True) for field in schema]
    row_type = StructType([*nullable, StructField(_FAILURE, StringType())])
    names = schema.fieldNames()
    # Said, not left to PySpark: it would look for Pandas, which nobody asked for, and warn.
    call = F.udf(_guarded(function, schema), row_type, useArrow=False)
    row = F.when(~F.col(f"{ORIGIN}.tombstone"), call(F.col("key"), F.col("value")))
    rejected = F.expr(
        f"_row.{_FAILURE} IS NULL OR {REJECT}(_row.{_FAILURE}, {ORIGIN}.topic, {ORIGIN}.partition, "
        f"{ORIGIN}.offset, key, value)"
    )
    decoded = records.withColumn("_row", row).filter(rejected)
    return decoded.select(*[_field(name, schema, key_column) for name in names], ORIGIN)


def _field(name: str, schema: StructType, key_column: str | None) -> Column:
    column = F.col(f"_row.`{name}`")
    if name == key_column:
        key = F.col("key").cast("string").cast(schema[name].dataType)
        column = F.when(F.col(f"{ORIGIN}.tombstone"), key).otherwise(column)
    return column.alias(name)


def _guarded(function: Callable[..., Any], schema: StructType) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return the function the workers call: a row, or the failure in its last column."""
    names = schema.fieldNames()
    # Spark makes a null of a value that is not of its column's type, and says nothing.
    verify = _make_type_verifier(schema)

    def decode(key: Any, value: Any) -> tuple[Any, ...]:
        try:
            row = function(None if key is None else bytes(key), bytes(value))
            values = _values(row, names)
            verify(values)
            return (*values, None)
        except Exception as error:  # the policy decides what becomes of it
            return (*(None for _ in names), f"{type(error).__name__}: {error}"[:200])

    return decode


def _values(row: Any, names: list[str]) -> tuple[Any, ...]:
    """Return what a deserializer gave, a mapping or a sequence, in the order of the schema."""
    if isinstance(row, Mapping):
        unknown = set(row) - set(names)
        if unknown:
            raise KeyError(f"the schema has no column {sorted(unknown)[0]!r}")
        return tuple(row.get(name) for name in names)
    if not isinstance(row, tuple | list):
        raise TypeError(f"returned {type(row).__name__}, neither a mapping nor a tuple")
    if len(row) != len(names):
        raise ValueError(f"returned {len(row)} values, and the schema has {len(names)} columns")
    return tuple(row)


def _rule(source: KafkaSource, facts: KafkaFacts) -> starts.Rule:
    words: dict[str, starts.Rule] = {
        "earliest": starts.earliest,
        "latest": starts.latest,
        "none": starts.nowhere,
    }
    if isinstance(source.start, AtTimestamp):
        return starts.timestamp
    if isinstance(source.start, AtOffsets):
        offsets = _resolved(source.start.offsets, facts)
        starts.require_known(offsets, facts, "source.kafka.start.offsets")
        return starts.specific(offsets)
    if source.start == "group-offsets":
        return starts.group_offsets(words[source.start_fallback])
    return words[source.start]


def _stop(source: KafkaSource, facts: KafkaFacts) -> Offsets | None:
    if isinstance(source.stop, AtTimestamp):
        return starts.stop_at_timestamp(facts)
    if isinstance(source.stop, UntilOffsets):
        offsets = _resolved(source.stop.offsets, facts)
        starts.require_known(offsets, facts, "source.kafka.stop.offsets")
        return offsets
    return starts.stop_at_latest(facts) if source.stop == "latest" else None


def _resolved(offsets: Mapping[str, Mapping[int, int | str]], facts: KafkaFacts) -> Offsets:
    """Return offsets as numbers, where `earliest` and `latest` may stand for one."""
    known = {(topic, partition): each for topic, partition, each in facts.partitions()}
    return {
        topic: {
            partition: _number(offset, known.get((topic, partition)))
            for partition, offset in partitions.items()
        }
        for topic, partitions in offsets.items()
    }


def _number(offset: int | str, facts: PartitionFacts | None) -> int:
    if isinstance(offset, int):
        return offset
    if facts is None:
        return 0  # a partition that does not exist is refused by require_known
    return facts.earliest if offset == "earliest" else facts.latest


def _milliseconds(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1000))
