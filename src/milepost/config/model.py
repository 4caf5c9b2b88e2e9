"""The whole configuration of a job, and what must hold between its sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from milepost.config.checkpointing import Checkpointing
from milepost.config.restart import Restart
from milepost.config.secret import redact
from milepost.config.section import Section
from milepost.config.sink import HBaseSink
from milepost.config.source import KafkaSource
from milepost.config.value import EntryPoint, Hidden, PropertyValue, Shown, Text, matching

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


class Sink(Section):
    """Where rows go."""

    not_yet: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("kafka", "console", "python"), "hbase is the only sink there is yet"
    )

    hbase: HBaseSink = Field(description="A table of HBase.")


class Transform(Section):
    """What happens to the rows in between; absent: nothing."""

    sql: Text | None = Field(default=None, description="A SELECT over the view source; or python.")
    python: EntryPoint | None = Field(
        default=None, description="A function from DataFrame to DataFrame; or sql."
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
_NamedSource = Annotated[Source, _as_section("kafka", KafkaSource)]


class Config(Section):
    """A job: its source, transform, sink and how it is run."""

    not_yet: ClassVar[Mapping[str, str]] = {"rest": "the REST interface and the dashboard are to come"}

    name: JobName = Field(description="Name of the job.")
    source: Annotated[Source, _as_section("kafka", KafkaSource)] | None = Field(
        default=None, description="Where records come from, the view source; or sources."
    )
    sources: Annotated[Mapping[ViewName, _NamedSource], Shown("{view: source}")] | None = Field(
        default=None, description="The same with a name of your own for the view; one source in this version."
    )
    transform: Transform | None = Field(default=None, description="What happens to the rows in between.")
    sink: Annotated[Sink, _as_section("hbase", HBaseSink)] = Field(description="Where rows go.")
    checkpointing: Checkpointing = Field(description="How progress is made durable.")
    restart: Restart = Field(default_factory=Restart, description="What happens when the job fails.")
    spark: SparkSettings = Field(default_factory=SparkSettings, description="The Spark that runs the job.")

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def views(self) -> Mapping[str, KafkaSource]:
        """The source of every view that the transform can read."""
        named = {DEFAULT_VIEW: self.source} if self.source else dict(self.sources or {})
        return {view: source.kafka for view, source in named.items()}

    def redact(self, text: str) -> str:
        """Return the text, an error or a log line, with every secret of this configuration masked."""
        return redact(text, self.secrets())

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between sections."""
        if self.source and self.sources is not None:
            yield ("sources", "source"), "cannot stand beside source; keep one of the two"
        elif not self.source and not self.sources:
            yield ("source", "sources"), "is required"
        if len(self.sources or {}) > 1:
            yield ("sources",), "names several sources, which is not available in this version; keep one"
        yield from self._version_faults()
        if self.checkpointing.execution == "real-time":
            yield from self._real_time_faults()

    def _kafka_sources(self) -> Iterator[tuple[str, KafkaSource]]:
        prefixes = {DEFAULT_VIEW: "source.kafka"} if self.source else {}
        for view, kafka in self.views.items():
            yield prefixes.get(view, f"sources.{view}.kafka"), kafka

    def _version_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        sink = self.sink.hbase
        if sink.version != "offset" or "_kafka.topic" in sink.row_key:
            return
        for prefix, kafka in self._kafka_sources():
            if kafka.topic_pattern or len(kafka.topics or ()) > 1:
                keys = (
                    "sink.hbase.version",
                    "sink.hbase.row-key",
                    f"{prefix}.topics",
                    f"{prefix}.topic-pattern",
                )
                message = (
                    "offset cannot tell which of two records is newer when they come from different topics; "
                    "add _kafka.topic to row-key, read one topic, or use timestamp or a column"
                )
                yield keys, message

    def _real_time_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        execution = "checkpointing.execution"
        if self.sink.hbase.version == "checkpoint":
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
