"""The configuration of a job, and the checks across its sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
)

from milepost.config.checkpointing import Checkpointing
from milepost.config.hbase_sink import HBaseSink
from milepost.config.kafka_sink import KafkaSink
from milepost.config.multiple_sources import find_source_faults
from milepost.config.reading.faults import TAG, KeyFault
from milepost.config.rest import Rest
from milepost.config.restart import Restart
from milepost.config.section import Section
from milepost.config.sink import Sink, as_sink
from milepost.config.source import KafkaSource
from milepost.config.telemetry import Logging, Telemetry
from milepost.config.values.secret import redact
from milepost.config.values.units import format_duration
from milepost.config.values.value import (
    WORD,
    EntryPoint,
    MaskSensitive,
    Participant,
    PropertyValue,
    Text,
    TypeLabel,
    matching,
)

# The view of a source that is configured without a name.
DEFAULT_VIEW = "source"

_OWNED = {
    "spark.app.name": "use name",
    "spark.master": "use spark.master beside conf",
    "spark.jars": "Milepost sets it for its own jars; add yours with spark.jars.packages or on the cluster",
    "spark.driver.extraClassPath": "Milepost sets it for its own jars",
    "spark.sql.streaming.checkpointLocation": "use checkpointing.dir",
    "spark.sql.streaming.checkpointFileManagerClass": "Milepost sets its own",
    "spark.sql.streaming.minBatchesToRetain": "use checkpointing.retained",
    "spark.sql.streaming.stateStore.providerClass": "use checkpointing.state-backend",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "use checkpointing.execution",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "use checkpointing.interval",
}


def _conf_key(key: str) -> str:
    if key in _OWNED:
        raise ValueError(f"belongs to Milepost; {_OWNED[key]}")
    if not key.startswith("spark."):
        raise ValueError(
            "is not a spark.* key; Spark would ignore it (for Hadoop's keys write spark.hadoop.…)"
        )
    return key


def _as_section(key: str, kind: type[Section]) -> BeforeValidator:
    """Return a validator that accepts an instance where the file has a mapping with the kind as its key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, kind) else value)


class Source(Section):
    """The source of the records."""

    kafka: KafkaSource = Field(description="Kafka topics.")


class Transform(Section):
    """The transformation between source and sink."""

    sql: Text | None = Field(
        default=None, description="A SELECT over the views of the sources; alternative to python."
    )
    python: EntryPoint | None = Field(
        default=None,
        description="A function from DataFrame to DataFrame, with several sources by keyword; alternative to sql.",
    )

    def find_faults(self) -> Iterator[KeyFault]:
        """Check that exactly one kind of transform is set."""
        if self.sql and self.python:
            yield KeyFault(("python", "sql"), "cannot be combined with sql; keep one of the two")
        if not self.sql and not self.python:
            yield KeyFault(
                ("sql", "python"),
                "is required unless python is set; remove transform to pass rows through unchanged",
            )


class SparkSettings(Section):
    """The Spark session that runs the job."""

    master: Text = Field(default="local[*]", description="Spark master URL.")
    conf: Annotated[
        Mapping[Annotated[str, AfterValidator(_conf_key)], PropertyValue],
        MaskSensitive,
        TypeLabel("spark.* settings"),
    ] = Field(default_factory=dict, description="Passed to the Spark session.")


JobName = Annotated[
    Text,
    AfterValidator(matching(r"[A-Za-z0-9_-]{1,64}", "must be 1 to 64 letters, digits, '_' or '-'")),
    TypeLabel("name"),
]
ViewName = Annotated[
    str,
    AfterValidator(matching(r"[A-Za-z_][A-Za-z0-9_]{0,63}", "is not a valid name of a SQL view")),
]
_Chain = Annotated[
    Annotated[Participant, Tag(WORD)] | Annotated[tuple[Participant, ...], Tag(TAG + "chain")],
    Discriminator(
        lambda value: WORD if isinstance(value, str) else TAG + "chain",
    ),
]
_NamedSource = Annotated[Source, _as_section("kafka", KafkaSource)]


class Config(Section):
    """A job: its sources, transform and sink, and how it runs."""

    name: JobName = Field(description="Name of the job.")
    source: Annotated[Source, _as_section("kafka", KafkaSource)] | None = Field(
        default=None, description="Source of the records, visible as view source; alternative to sources."
    )
    sources: Annotated[Mapping[ViewName, _NamedSource], TypeLabel("{view: source}")] | None = Field(
        default=None, description="One or more named sources; each is visible as a view with its name."
    )
    transform: Transform | None = Field(
        default=None, description="Transformation between source and sink; absent: rows pass through."
    )
    participants: Annotated[tuple[_Chain, ...], TypeLabel("list of module:name, or of lists of them")] = (
        Field(
            default=(),
            description="Objects that take part in checkpoints with their own state; an inner list runs in sequence.",
            json_schema_extra={"default": "—"},
        )
    )
    # Before the sink, whose default version depends on the mode.
    checkpointing: Checkpointing = Field(description="Checkpoints and savepoints.")
    sink: Annotated[Sink, BeforeValidator(as_sink)] = Field(description="Destination of the rows.")
    restart: Restart = Field(default_factory=Restart, description="How the job restarts after a failure.")
    spark: SparkSettings = Field(
        default_factory=SparkSettings, description="Spark session that runs the job."
    )
    rest: Rest | None = Field(
        default=None,
        description="REST interface of the running job; absent: only `run` serves one.",
    )
    telemetry: Telemetry | None = Field(
        default=None,
        description="Export of checkpoint spans; requires `pip install 'milepost[opentelemetry]'`.",
    )
    logging: Logging = Field(default_factory=Logging, description="Log output of `milepost run`.")

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def views(self) -> Mapping[str, KafkaSource]:
        """The sources by the name of their view."""
        named = {DEFAULT_VIEW: self.source} if self.source else dict(self.sources or {})
        return {view: source.kafka for view, source in named.items()}

    @field_validator("sink", mode="after")
    @classmethod
    def _choose_default_version(cls, sink: Sink, info: ValidationInfo) -> Sink:
        checkpointing, hbase = info.data.get("checkpointing"), sink.kind
        if checkpointing is None or checkpointing.mode == "exactly-once":
            return sink
        if not isinstance(hbase, HBaseSink) or "version" in hbase.model_fields_set or hbase.guard == "cas":
            return sink
        return sink.model_copy(update={"to_hbase": hbase.model_copy(update={"version": "server-time"})})

    def redact(self, text: str) -> str:
        """Return the text, such as an error or a log line, with every secret of this configuration masked."""
        return redact(text, self.secrets())

    def find_faults(self) -> Iterator[KeyFault]:
        """Check which settings of different sections can be combined."""
        if self.source and self.sources is not None:
            yield KeyFault(("sources", "source"), "cannot be combined with source; keep one of the two")
        elif not self.source and not self.sources:
            yield KeyFault(("source", "sources"), "is required")
        if len(self.views) > 1:
            yield from find_source_faults(dict(self._kafka_sources()))
        if isinstance(self.sink.kind, HBaseSink):
            yield from self._version_faults(self.sink.kind)
            yield from self._bulk_load_faults(self.sink.kind)
        if isinstance(self.sink.kind, KafkaSink):
            yield from self._kafka_sink_faults(self.sink.kind)
        if self.checkpointing.execution == "real-time":
            yield from self._real_time_faults()

    def _kafka_sources(self) -> Iterator[tuple[str, KafkaSource]]:
        prefixes = {DEFAULT_VIEW: "source.kafka"} if self.source else {}
        for view, kafka in self.views.items():
            yield prefixes.get(view, f"sources.{view}.kafka"), kafka

    def _version_faults(self, sink: HBaseSink) -> Iterator[KeyFault]:
        if sink.version == "server-time" and self.checkpointing.mode == "exactly-once":
            message = (
                "server-time gives a replayed record a newer version, which exactly-once does not allow; "
                "use offset, or mode at-least-once"
            )
            yield KeyFault(("sink.hbase.version", "checkpointing.mode"), message)
        if sink.version == "checkpoint" and self.checkpointing.on_damage == "fall-back":
            message = (
                "fall-back repeats checkpoints with different boundaries, and with version checkpoint the first ones "
                "would hide the repeated ones; use fail"
            )
            yield KeyFault(("checkpointing.on-damage", "sink.hbase.version"), message)
        if sink.version != "offset" or "_kafka.topic" in sink.row_key:
            return
        sources = dict(self._kafka_sources())
        if len(sources) > 1 or any(s.topic_pattern or len(s.topics or ()) > 1 for s in sources.values()):
            message = (
                "offset does not define which of two records from different topics is newer; "
                "add _kafka.topic to row-key, read one topic, or use timestamp or a column"
            )
            topics = [f"{prefix}.{key}" for prefix in sources for key in ("topics", "topic-pattern")]
            yield KeyFault(("sink.hbase.version", "sink.hbase.row-key", *topics), message)

    def _kafka_sink_faults(self, sink: KafkaSink) -> Iterator[KeyFault]:
        checkpointing = self.checkpointing
        # In real-time execution a transaction is open from one checkpoint to the next.
        flow = checkpointing.interval if checkpointing.execution == "real-time" else timedelta(0)
        longest = checkpointing.timeout + flow
        if checkpointing.mode == "exactly-once" and sink.transaction_timeout <= longest:
            message = (
                f"is {format_duration(sink.transaction_timeout)}, and a checkpoint may take "
                f"{format_duration(longest)}: the broker could abort the transaction of a "
                "completed checkpoint; raise it, or lower "
                "checkpointing.timeout"
            )
            yield KeyFault(("sink.kafka.transaction-timeout", "checkpointing.timeout"), message)
        if checkpointing.mode == "exactly-once" and checkpointing.on_damage == "fall-back":
            message = (
                "fall-back repeats checkpoints, and records that consumers have read cannot be withdrawn from a topic; "
                "use fail, or mode at-least-once"
            )
            yield KeyFault(("checkpointing.on-damage", "checkpointing.mode"), message)
        if checkpointing.mode == "exactly-once" and checkpointing.state_backend == "memory":
            message = (
                "with memory a new process reads the same records again, and records that consumers have read cannot "
                "be withdrawn from a topic; use rocksdb or filesystem, or mode at-least-once"
            )
            yield KeyFault(("checkpointing.state-backend", "checkpointing.mode"), message)
        for prefix, source in self._kafka_sources():
            brokers = set(source.bootstrap_servers) & set(sink.bootstrap_servers)
            if sink.topic is not None and brokers and source.reads(sink.topic):
                message = f"{sink.topic!r} is also read by this job, so its rows would circulate for ever"
                yield KeyFault(("sink.kafka.topic", f"{prefix}.topics", f"{prefix}.topic-pattern"), message)

    def _bulk_load_faults(self, sink: HBaseSink) -> Iterator[KeyFault]:
        if sink.write == "mutations":
            return
        if self.checkpointing.execution == "real-time":
            message = (
                f"{sink.write} makes rows visible only when a checkpoint is sealed, but real-time execution writes "
                "them continuously; use mutations, or execution micro-batch"
            )
            yield KeyFault(("sink.hbase.write", "checkpointing.execution"), message)
        if sink.version == "server-time":
            message = (
                f"{sink.write} requires versions that come from the record, because region servers do not assign times "
                "to the cells of an HFile; set version to offset, or use mutations"
            )
            yield KeyFault(("sink.hbase.write", "sink.hbase.version"), message)

    def _real_time_faults(self) -> Iterator[KeyFault]:
        execution, sink = "checkpointing.execution", self.sink.kind
        if isinstance(sink, HBaseSink) and sink.version == "checkpoint":
            message = (
                "checkpoint cannot be used in real-time execution, where a replayed batch has different boundaries; "
                "use offset, or execution micro-batch"
            )
            yield KeyFault(("sink.hbase.version", execution), message)
        for prefix, kafka in self._kafka_sources():
            if kafka.max_offsets_per_trigger is not None:
                message = "does not apply to real-time execution; remove it, or use execution micro-batch"
                yield KeyFault((f"{prefix}.max-offsets-per-trigger", execution), message)
            if kafka.stop != "never":
                message = (
                    "must be never in real-time execution, which is unbounded; or use execution micro-batch"
                )
                yield KeyFault((f"{prefix}.stop", execution), message)
            if kafka.watermark.strategy != "none":
                message = (
                    "does not apply to real-time execution, which has no state that depends on event time; "
                    "remove it, or use execution micro-batch"
                )
                yield KeyFault((f"{prefix}.watermark", execution), message)
