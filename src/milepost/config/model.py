"""The whole configuration of a job, and what must hold between its sections."""

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
from milepost.config.multiple_sources import several_faults
from milepost.config.reading.faults import TAG
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
    Hidden,
    Participant,
    PropertyValue,
    Shown,
    Text,
    matching,
)

# The view that a transform reads where the source has no name of its own.
DEFAULT_VIEW = "source"

_OWNED = {
    "spark.app.name": "use name",
    "spark.master": "use spark.master beside conf",
    "spark.jars": "Milepost brings its jars; add yours with spark.jars.packages or on the cluster",
    "spark.driver.extraClassPath": "Milepost sets it for its own jars",
    "spark.sql.streaming.checkpointLocation": "use checkpointing.dir",
    "spark.sql.streaming.checkpointFileManagerClass": "Milepost brings its own",
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
    """Return what lets Python give a source or sink itself where the file names its kind first."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, kind) else value)


class Source(Section):
    """Where records come from."""

    kafka: KafkaSource = Field(description="Topics of Kafka.")


class Transform(Section):
    """What happens to the rows in between; absent: nothing."""

    sql: Text | None = Field(default=None, description="A SELECT over the sources' views; or python.")
    python: EntryPoint | None = Field(
        default=None,
        description="A function from DataFrame to DataFrame, of several sources by the names of their views; or sql.",
    )

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of a transform."""
        if self.sql and self.python:
            yield ("python", "sql"), "cannot stand beside sql; keep one of the two"
        if not self.sql and not self.python:
            yield ("sql", "python"), "is required, or python; without both remove transform"


class SparkSettings(Section):
    """The Spark that runs the job."""

    master: Text = Field(default="local[*]", description="Master URL.")
    conf: Annotated[
        Mapping[Annotated[str, AfterValidator(_conf_key)], PropertyValue], Hidden, Shown("spark.* settings")
    ] = Field(default_factory=dict, description="Passed to the Spark session.")


JobName = Annotated[
    Text,
    AfterValidator(matching(r"[A-Za-z0-9_-]{1,64}", "must be 1 to 64 letters, digits, '_' or '-'")),
    Shown("name"),
]
ViewName = Annotated[
    str,
    AfterValidator(matching(r"[A-Za-z_][A-Za-z0-9_]{0,63}", "must be a name that SQL can use for a view")),
]
_Chain = Annotated[
    Annotated[Participant, Tag(WORD)] | Annotated[tuple[Participant, ...], Tag(TAG + "chain")],
    Discriminator(
        lambda value: WORD if isinstance(value, str) else TAG + "chain",
    ),
]
_NamedSource = Annotated[Source, _as_section("kafka", KafkaSource)]


class Config(Section):
    """A job: its source, transform, sink and how it is run."""

    name: JobName = Field(description="Name of the job.")
    source: Annotated[Source, _as_section("kafka", KafkaSource)] | None = Field(
        default=None, description="Where records come from, the view source; or sources."
    )
    sources: Annotated[Mapping[ViewName, _NamedSource], Shown("{view: source}")] | None = Field(
        default=None, description="One or several sources, each a view of the name that you give it."
    )
    transform: Transform | None = Field(default=None, description="What happens to the rows in between.")
    participants: Annotated[tuple[_Chain, ...], Shown("list of module:name, or of lists of them")] = Field(
        default=(),
        description="What takes part in checkpoints with state of its own; those of an inner list one after the other.",
        json_schema_extra={"default": "—"},
    )
    # Before the sink, whose version follows from the mode where nobody chose one.
    checkpointing: Checkpointing = Field(description="How progress is made durable.")
    sink: Annotated[Sink, BeforeValidator(as_sink)] = Field(description="Where rows go.")
    restart: Restart = Field(default_factory=Restart, description="What happens when the job fails.")
    spark: SparkSettings = Field(default_factory=SparkSettings, description="The Spark that runs the job.")
    rest: Rest | None = Field(
        default=None,
        description="Where the running job answers, and who may ask; absent: only `run` serves it.",
    )
    telemetry: Telemetry | None = Field(
        default=None,
        description="Where spans of checkpoints go; needs `pip install 'milepost[opentelemetry]'`.",
    )
    logging: Logging = Field(default_factory=Logging, description="How `milepost run` writes its log.")

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def views(self) -> Mapping[str, KafkaSource]:
        """The source of every view that the transform can read."""
        named = {DEFAULT_VIEW: self.source} if self.source else dict(self.sources or {})
        return {view: source.kafka for view, source in named.items()}

    @field_validator("sink", mode="after")
    @classmethod
    def _version_of_the_mode(cls, sink: Sink, info: ValidationInfo) -> Sink:
        checkpointing, hbase = info.data.get("checkpointing"), sink.kind
        if checkpointing is None or checkpointing.mode == "exactly-once":
            return sink
        if not isinstance(hbase, HBaseSink) or "version" in hbase.model_fields_set or hbase.guard == "cas":
            return sink
        return sink.model_copy(update={"to_hbase": hbase.model_copy(update={"version": "server-time"})})

    def redact(self, text: str) -> str:
        """Return the text, an error or a log line, with every secret of this configuration masked."""
        return redact(text, self.secrets())

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between sections."""
        if self.source and self.sources is not None:
            yield ("sources", "source"), "cannot stand beside source; keep one of the two"
        elif not self.source and not self.sources:
            yield ("source", "sources"), "is required"
        if len(self.views) > 1:
            yield from several_faults(dict(self._kafka_sources()))
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

    def _version_faults(self, sink: HBaseSink) -> Iterator[tuple[tuple[str, ...], str]]:
        if sink.version == "server-time" and self.checkpointing.mode == "exactly-once":
            message = (
                "server-time writes a repeated record as a newer cell, which exactly-once does not allow; "
                "use offset, or mode at-least-once"
            )
            yield ("sink.hbase.version", "checkpointing.mode"), message
        if sink.version == "checkpoint" and self.checkpointing.on_damage == "fall-back":
            message = (
                "fall-back takes checkpoints a second time with other boundaries, and version checkpoint would "
                "hide them behind the first; use fail"
            )
            yield ("checkpointing.on-damage", "sink.hbase.version"), message
        if sink.version != "offset" or "_kafka.topic" in sink.row_key:
            return
        sources = dict(self._kafka_sources())
        if len(sources) > 1 or any(s.topic_pattern or len(s.topics or ()) > 1 for s in sources.values()):
            message = (
                "offset cannot tell which of two records is newer when they come from different topics; "
                "add _kafka.topic to row-key, read one topic, or use timestamp or a column"
            )
            topics = [f"{prefix}.{key}" for prefix in sources for key in ("topics", "topic-pattern")]
            yield ("sink.hbase.version", "sink.hbase.row-key", *topics), message

    def _kafka_sink_faults(self, sink: KafkaSink) -> Iterator[tuple[tuple[str, ...], str]]:
        checkpointing = self.checkpointing
        # In real-time execution a transaction is open from one checkpoint to the next.
        flow = checkpointing.interval if checkpointing.execution == "real-time" else timedelta(0)
        longest = checkpointing.timeout + flow
        if checkpointing.mode == "exactly-once" and sink.transaction_timeout <= longest:
            message = (
                f"is {format_duration(sink.transaction_timeout)}, and a checkpoint may take "
                f"{format_duration(longest)}: the broker would abort what was just completed; raise it, or lower "
                "checkpointing.timeout"
            )
            yield ("sink.kafka.transaction-timeout", "checkpointing.timeout"), message
        if checkpointing.mode == "exactly-once" and checkpointing.on_damage == "fall-back":
            message = (
                "fall-back takes checkpoints a second time, and a topic cannot take back what readers have seen; "
                "use fail, or mode at-least-once"
            )
            yield ("checkpointing.on-damage", "checkpointing.mode"), message
        if checkpointing.mode == "exactly-once" and checkpointing.state_backend == "memory":
            message = (
                "memory lets a new process read again what an earlier one has read, and a topic cannot take back what "
                "readers have seen; use rocksdb or filesystem, or mode at-least-once"
            )
            yield ("checkpointing.state-backend", "checkpointing.mode"), message
        for prefix, source in self._kafka_sources():
            brokers = set(source.bootstrap_servers) & set(sink.bootstrap_servers)
            if sink.topic is not None and brokers and source.reads(sink.topic):
                message = f"{sink.topic!r} is also read by this job, so its rows would come back for ever"
                yield ("sink.kafka.topic", f"{prefix}.topics", f"{prefix}.topic-pattern"), message

    def _bulk_load_faults(self, sink: HBaseSink) -> Iterator[tuple[tuple[str, ...], str]]:
        if sink.write == "mutations":
            return
        if self.checkpointing.execution == "real-time":
            message = (
                f"{sink.write} shows rows when a checkpoint is sealed, and real-time execution is for rows that show "
                "at once; use mutations, or execution micro-batch"
            )
            yield ("sink.hbase.write", "checkpointing.execution"), message
        if sink.version == "server-time":
            message = (
                f"{sink.write} needs versions that come from the record: no server gives the cells of an HFile "
                "their time; set version to offset, or use mutations"
            )
            yield ("sink.hbase.write", "sink.hbase.version"), message

    def _real_time_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        execution, sink = "checkpointing.execution", self.sink.kind
        if isinstance(sink, HBaseSink) and sink.version == "checkpoint":
            message = (
                "checkpoint has no meaning in real-time execution, where a repeated batch differs; "
                "use offset, or execution micro-batch"
            )
            yield ("sink.hbase.version", execution), message
        for prefix, kafka in self._kafka_sources():
            if kafka.max_offsets_per_trigger is not None:
                message = "cannot be kept in real-time execution; remove it, or use execution micro-batch"
                yield (f"{prefix}.max-offsets-per-trigger", execution), message
            if kafka.stop != "never":
                message = (
                    "must be never in real-time execution, which has no end; or use execution micro-batch"
                )
                yield (f"{prefix}.stop", execution), message
            if kafka.watermark.strategy != "none":
                message = (
                    "has no meaning in real-time execution, which keeps no state that event time could close; "
                    "remove it, or use execution micro-batch"
                )
                yield (f"{prefix}.watermark", execution), message
