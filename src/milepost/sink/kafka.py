"""DataFrame -> topics of Kafka: how a row becomes a record, the options of the Java sink, what is refused before."""

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
from milepost.sink.stage import FreshStart
from milepost.sink.transactions import KafkaTransactions


@dataclass(frozen=True, slots=True)
class KafkaStage:
    """A topic of Kafka as the last stage of a pipeline."""

    sink: KafkaSink
    name: str
    checkpointing: Checkpointing
    warnings: tuple[str, ...] = ()

    format = "milepost-kafka-sink"
    nulls = "empty"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The column of the record's key."""
        return () if self.sink.key is None else (self.sink.key,)

    @property
    def is_transactional(self) -> bool:
        """Whether records are committed with their checkpoint."""
        return self.checkpointing.mode == "exactly-once"

    def inspect(self, spark: SparkSession) -> KafkaStage:
        """Ask the broker about the topic and about its limit, and refuse what cannot work."""
        if self.is_transactional and spark.conf.get("spark.speculation", "false") == "true":
            raise PreflightError(
                "spark.speculation and sink.kafka do not go together",
                why="the second attempt at a task aborts the transaction of the first, which may have acknowledged",
                fix="Remove spark.speculation from spark.conf, or use mode at-least-once",
            )
        options = java_map(spark, self.options())
        answer = jvm(spark).io.milepost.kafkasink.KafkaSinkInspector.describe(options, self.sink.topic)
        require_usable(self.sink, answer, is_transactional=self.is_transactional)
        return self

    def require_fresh_start_possible(self, start: FreshStart) -> None:
        """Nothing to refuse: a topic takes the records once more, behind the old ones."""

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return topic, key and value of each record, or refuse columns that are not there."""
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
            # A record without a value goes on as one.
            value = F.when(F.coalesce(F.col(f"{origin}.tombstone"), F.lit(False)), None).otherwise(value)
        return rows.select(topic.alias("topic"), key.alias("key"), value.alias("value"))

    def _value(self, rows: DataFrame, present: list[str]) -> Column:
        sink = self.sink
        if sink.value is not None:
            return _bytes(rows, sink.value)
        columns = sink.columns or [column for column in present if column != sink.topic_column]
        return F.to_json(F.struct(*(F.col(f"`{column}`") for column in columns))).cast("binary")

    def options(self) -> dict[str, str]:
        """Return the producers' properties and, where there are transactions, their names and their timeout."""
        options = {f"producer.{key}": str(value) for key, value in self.sink.client_properties.items()}
        if not self.is_transactional:
            return options
        return options | {
            "transactional-id-prefix": self.transactional_id_prefix,
            "transaction-timeout-ms": str(int(self.sink.transaction_timeout.total_seconds() * 1000)),
        }

    @property
    def transactional_id_prefix(self) -> str:
        """The same at every start of this job, and another one for a job of the same name in another directory."""
        place = zlib.crc32(self.checkpointing.dir.encode())
        return self.sink.transactional_id_prefix or f"milepost-{self.name}-{place:08x}"

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Nothing to refuse: what is selected are texts and bytes."""

    def prepare(self, spark: SparkSession) -> None:
        """Nothing to make: the topic must be there."""

    def summary(self) -> str:
        """Return the topic and when its readers see the records."""
        sink = self.sink
        topic = sink.topic if sink.topic is not None else f"of column {sink.topic_column}"
        way = (
            f"in transactions {self.transactional_id_prefix}-…, which are committed when a checkpoint is complete"
            if self.is_transactional
            else "as they come"
        )
        return f"into topic {topic}, key {sink.key or 'none'}, format {sink.format}, {way}"

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> KafkaTransactions | None:
        """Return what commits the transactions of completed checkpoints."""
        if not self.is_transactional:
            return None
        java = jvm(spark).io.milepost
        broker = java.kafkasink.Transactions(java_map(spark, self.options()))
        return KafkaTransactions(broker, lambda: str(java.job.Jobs.of(job_id).sealing()), store)


def require_usable(sink: KafkaSink, answer: str, *, is_transactional: bool) -> None:
    """Refuse a topic that is missing, and a timeout that the broker does not take."""
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
            f"sink.kafka.transaction-timeout is {format_duration(sink.transaction_timeout)}, and the brokers allow "
            f"{longest // 1000} s",
            why="transaction.max.timeout.ms of the brokers says so",
            fix="Lower it, and checkpointing.timeout with it, or raise the brokers' limit",
        )


def _bytes(rows: DataFrame, column: str) -> Column:
    named = F.col(f"`{column}`")
    is_binary = isinstance(rows.schema[column].dataType, BinaryType)
    return named if is_binary else named.cast("string").cast("binary")
