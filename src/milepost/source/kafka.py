"""Kafka topics -> DataFrame of decoded records: the options of the gated source, and Python deserializers."""

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
"""The column that identifies the record of a row."""

REJECT = "milepost_reject"
"""The SQL function that passes a record to the bad-record policy and returns false."""

_FAILURE = "_failure"

# Spark's reader asks the broker for both ends of the partition after each poll, which discards the records that were
# fetched but not polled: with Kafka's defaults (500 records, 1 MiB) most of a backlog is fetched many times.
_READ_DEFAULTS = {"kafka.max.poll.records": "50000", "kafka.max.partition.fetch.bytes": str(4 << 20)}


def facts_options(source: KafkaSource) -> dict[str, str]:
    """Return the options of the request for topic facts."""
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


def connect_options(source: KafkaSource) -> dict[str, str]:
    """Return the timeout for requests at the start, when a busy machine may be slow."""
    return {"connect-timeout-ms": str(int(source.connect_timeout.total_seconds() * 1000))}


def group_options(source: KafkaSource) -> dict[str, str]:
    """Return the group if the start depends on it; otherwise the client may lack permission to read it."""
    if source.start != "group-offsets" or source.group_id is None:
        return {}
    return {"group": source.group_id}


def plan_start(
    source: KafkaSource, facts: KafkaFacts, completed: CompletedBatch | None, initial: Offsets | None
) -> starts.StartPlan:
    """Decide where reading starts and stops; the checkpoint directory takes precedence over the configuration."""
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
    """Return the stream of decoded records, not yet read; `place` has the options that identify it in the job."""
    options = record_options(source) | {
        **place,
        "startingOffsets": json.dumps(offsets_to_json(plan.offsets())),
        "failOnDataLoss": "true",
    }
    if isinstance(source.format, PythonFormat):
        key_column = "key"  # the records are raw; decode_with_python assigns the key to its column
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
            "The records cannot be decoded as configured in source.kafka",
            why=plain(error.getMessage() or str(error)),
            fix="Correct source.kafka.schema or source.kafka.format",
        ) from error


def record_options(source: KafkaSource) -> dict[str, str]:
    """Return the options for the topics to read and for decoding their records."""
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
    """Return the options of the sink that a change-log decoder needs; no row key if a transformation creates it."""
    return {"nulls": nulls} | ({"row-key": ",".join(row_key)} if row_key else {})


def tombstone_column(source: KafkaSource, row_key: tuple[str, ...]) -> str | None:
    """Return the column for the key of a record without a value.

    A tombstone has only a key. If the row key is a single column of the records, the key is assigned to it; if a
    transformation renames that column, `key-column` names the original one.
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
    """Return the rows that a user-defined deserializer creates; exceptions go to the bad-record policy."""
    nullable = [StructField(field.name, field.dataType, True) for field in schema]
    row_type = StructType([*nullable, StructField(_FAILURE, StringType())])
    names = schema.fieldNames()
    # Set explicitly: otherwise PySpark looks for Pandas, which is not required, and warns.
    call = F.udf(_catch_failures(function, schema), row_type, useArrow=False)
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


def _catch_failures(
    function: Callable[..., Any], schema: StructType
) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Return the function for the workers, which returns a row, or the failure in the last column."""
    names = schema.fieldNames()
    # Spark silently replaces a value of the wrong type by null.
    verify = _make_type_verifier(schema)

    def decode(key: Any, value: Any) -> tuple[Any, ...]:
        try:
            row = function(None if key is None else bytes(key), bytes(value))
            values = _values(row, names)
            verify(values)
            return (*values, None)
        except Exception as error:  # handled by the bad-record policy
            return (*(None for _ in names), f"{type(error).__name__}: {error}"[:200])

    return decode


def _values(row: Any, names: list[str]) -> tuple[Any, ...]:
    """Return the values of a mapping or a sequence in the order of the schema."""
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
        offsets = _resolve_names(source.start.offsets, facts)
        starts.require_known(offsets, facts, "source.kafka.start.offsets")
        return starts.specific(offsets)
    if source.start == "group-offsets":
        return starts.group_offsets(words[source.start_fallback])
    return words[source.start]


def _stop(source: KafkaSource, facts: KafkaFacts) -> Offsets | None:
    if isinstance(source.stop, AtTimestamp):
        return starts.stop_at_timestamp(facts)
    if isinstance(source.stop, UntilOffsets):
        offsets = _resolve_names(source.stop.offsets, facts)
        starts.require_known(offsets, facts, "source.kafka.stop.offsets")
        return offsets
    return starts.stop_at_latest(facts) if source.stop == "latest" else None


def _resolve_names(offsets: Mapping[str, Mapping[int, int | str]], facts: KafkaFacts) -> Offsets:
    """Return offsets as numbers, with `earliest` and `latest` resolved."""
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
