"""DataFrame -> Kafka: the mapping of rows to records, the options of the Java sink, and the checks before the start."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from milepost.checkpoint.store.store import Store
from milepost.config import Checkpointing, KafkaSink
from milepost.config.values.units import format_duration
from milepost.engine import java_map, jvm
from milepost.errors import NotReachableError, PreflightError
from milepost.sink.transactions import KafkaTransactions


@dataclass(frozen=True, slots=True)
class KafkaStage:
    """A Kafka topic as the sink of a pipeline."""

    sink: KafkaSink
    name: str
    checkpointing: Checkpointing
    warnings: tuple[str, ...] = ()

    format = "milepost-kafka-sink"
    nulls = "empty"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The column of the record key."""
        return () if self.sink.key is None else (self.sink.key,)

    @property
    def is_transactional(self) -> bool:
        """Whether records are committed together with their checkpoint."""
        return self.checkpointing.mode == "exactly-once"

    def inspect(self, spark: SparkSession) -> KafkaStage:
        """Check the topic and the transaction timeout with the broker."""
        if self.is_transactional and spark.conf.get("spark.speculation", "false") == "true":
            raise PreflightError(
                "spark.speculation cannot be used with sink.kafka in mode exactly-once",
                why="the second attempt at a task aborts the transaction of the first, which may have acknowledged",
                fix="Remove spark.speculation from spark.conf, or use mode at-least-once",
            )
        options = java_map(spark, self.options())
        answer = jvm(spark).io.milepost.kafkasink.KafkaSinkInspector.describe(options, self.sink.topic)
        require_usable(self.sink, answer, is_transactional=self.is_transactional)
        return self

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return topic, key and value of each record; refuse missing columns."""
        sink, present = self.sink, [column for column in rows.columns if column != origin]
        needed = {"topic-column": sink.topic_column, "key": sink.key, "value": sink.value}
        named = [(key, column) for key, column in needed.items() if column is not None]
        named += [("columns", column) for column in sink.columns or ()]
        missing = [f"sink.kafka.{key} names the column {c!r}" for key, c in named if c not in present]
        if missing:
            raise PreflightError(
                f"{'; '.join(missing)}, which the rows do not have",
                why=f"they have {', '.join(present)}",
                fix="Correct sink.kafka, or add the column to the transformation",
            )
        topic = (
            F.lit(sink.topic) if sink.topic is not None else F.col(f"`{sink.topic_column}`").cast("string")
        )
        key = F.lit(None).cast("binary") if sink.key is None else _bytes(rows, sink.key)
        value = self._value(rows, present)
        if origin in rows.columns:
            # A tombstone stays a tombstone.
            value = F.when(F.coalesce(F.col(f"{origin}.tombstone"), F.lit(False)), None).otherwise(value)
        return rows.select(topic.alias("topic"), key.alias("key"), value.alias("value"))

    def _value(self, rows: DataFrame, present: list[str]) -> Column:
        sink = self.sink
        if sink.value is not None:
            return _bytes(rows, sink.value)
        columns = sink.columns or [column for column in present if column != sink.topic_column]
        return F.to_json(F.struct(*(F.col(f"`{column}`") for column in columns))).cast("binary")

    def options(self) -> dict[str, str]:
        """Return the properties of the producers and, for transactions, the id prefix and the timeout."""
        options = {f"producer.{key}": str(value) for key, value in self.sink.client_properties.items()}
        if not self.is_transactional:
            return options
        return options | {
            "transactional-id-prefix": self.transactional_id_prefix,
            "transaction-timeout-ms": str(int(self.sink.transaction_timeout.total_seconds() * 1000)),
        }

    @property
    def transactional_id_prefix(self) -> str:
        """The prefix, which is stable across starts and differs between checkpoint directories."""
        place = zlib.crc32(self.checkpointing.dir.encode())
        return self.sink.transactional_id_prefix or f"milepost-{self.name}-{place:08x}"

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Accept all rows: `select` returns text and bytes only."""

    def prepare(self, spark: SparkSession) -> None:
        """Do nothing: the topic must exist."""

    def summary(self) -> str:
        """Return the topic and when consumers can read the records."""
        sink = self.sink
        topic = sink.topic if sink.topic is not None else f"of column {sink.topic_column}"
        commit = (
            f"in transactions {self.transactional_id_prefix}-…, committed when a checkpoint completes"
            if self.is_transactional
            else "without transactions"
        )
        return f"into topic {topic}, key {sink.key or 'none'}, format {sink.format}, {commit}"

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> KafkaTransactions | None:
        """Return the participant that commits the transactions of completed checkpoints."""
        if not self.is_transactional:
            return None
        java = jvm(spark).io.milepost
        broker = java.kafkasink.Transactions(java_map(spark, self.options()))
        return KafkaTransactions(broker, lambda: str(java.job.Jobs.of(job_id).sealing()), store)


def require_usable(sink: KafkaSink, answer: str, *, is_transactional: bool) -> None:
    """Refuse a missing topic, and a transaction timeout above the limit of the broker."""
    facts = json.loads(answer)
    where = ",".join(sink.bootstrap_servers)
    if "error" in facts:
        raise NotReachableError(
            f"Kafka at {where} does not answer for sink.kafka",
            why=facts["error"],
            fix="Check sink.kafka.bootstrap-servers and sink.kafka.properties",
        )
    if not facts.get("topic-exists", True):
        raise PreflightError(
            f"Topic {sink.topic!r} of sink.kafka does not exist",
            fix="Create it with the partitions it should have, or correct sink.kafka.topic",
        )
    longest = facts.get("longest-transaction-ms")
    wanted = int(sink.transaction_timeout.total_seconds() * 1000)
    if is_transactional and longest is not None and wanted > longest:
        raise PreflightError(
            f"sink.kafka.transaction-timeout is {format_duration(sink.transaction_timeout)}, but the brokers allow at "
            f"most {longest // 1000} s",
            why="the limit is transaction.max.timeout.ms of the brokers",
            fix="Lower it, and checkpointing.timeout with it, or raise the brokers' limit",
        )


def _bytes(rows: DataFrame, column: str) -> Column:
    named = F.col(f"`{column}`")
    is_binary = isinstance(rows.schema[column].dataType, BinaryType)
    return named if is_binary else named.cast("string").cast("binary")
