"""`source.kafka`: which records are read, from where to where, and how they become columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag, ValidationInfo, field_validator

from milepost.config.reading.faults import TAG
from milepost.config.section import Section
from milepost.config.values.position import (
    AtOffsets,
    AtTimestamp,
    Start,
    Stop,
    UntilOffsets,
    crossed,
)
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    INTERNAL_TOPICS,
    WORD,
    Column,
    Count,
    EntryPoint,
    Hidden,
    PositiveDuration,
    PropertyValue,
    Shown,
    Text,
    Topic,
    Topics,
    by_shape,
    servers,
)
from milepost.config.watermark import Watermark, WatermarkKey

_OWNED = {
    "bootstrap.servers": "use bootstrap-servers",
    "group.id": "use group-id; the reader itself never joins a group",
    "group.instance.id": "the reader never joins a group",
    "enable.auto.commit": "offsets belong to the checkpoint; see commit",
    "auto.commit.interval.ms": "offsets belong to the checkpoint; see commit",
    "auto.offset.reset": "use start and start-fallback",
    "key.deserializer": "use format",
    "value.deserializer": "use format",
    "key.serializer": "use format",
    "value.serializer": "use format",
    "interceptor.classes": "Spark does not allow interceptors",
    "allow.auto.create.topics": "a job never creates its own input",
    "exclude.internal.topics": "internal topics are never read",
    "config.providers": "use ${env:NAME} or ${file:path}",
}
# CVE-2023-25194 and CVE-2025-27818: these login modules let whoever writes the property run code.
_LOGIN_MODULES = re.compile(r"JndiLoginModule|LdapLoginModule")


def _property_key(key: str) -> str:
    if key.startswith("kafka."):
        raise ValueError(f"is written without Spark's prefix: {key.removeprefix('kafka.')}")
    if key in _OWNED or key.startswith("config.providers."):
        raise ValueError(f"belongs to Milepost; {_OWNED.get(key, _OWNED['config.providers'])}")
    return key


def _pattern(text: str) -> str:
    # Java reads it in the end: only what Python's dialect shares with Java's can be judged here.
    if "\\p" not in text and "&&" not in text:
        try:
            compiled = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        internal = [topic for topic in INTERNAL_TOPICS if compiled.fullmatch(topic)]
        if internal:
            raise ValueError(f"also matches Kafka's internal {internal[0]}; begin it with (?!__)")
    return text


class PythonFormat(Section):
    """A deserializer of the user's own."""

    python: EntryPoint = Field(description="A function from the record's bytes to a row.")


class DeadLetter(Section):
    """The topic that takes the records which cannot be processed."""

    dead_letter: Topic = Field(description="The topic; it must exist.")


class PartitionGrowth(Section):
    """What happens when a topic gets more partitions, which moves keys to other ones."""

    transition: PositiveDuration = Field(
        default=timedelta(minutes=10),
        description="How long producers may take until all know of it (their metadata.max.age.ms, and what they "
        "have queued); so long version: offset orders by the records' time.",
    )


Format = Annotated[
    Annotated[Literal["raw", "string", "json", "avro", "debezium-json", "canal-json"], Tag(WORD)]
    | Annotated[PythonFormat, Tag(TAG + "python")],
    by_shape(
        "raw, string, json, avro, debezium-json, canal-json, {python: module:function}",
        {"python": PythonFormat},
    ),
]
CHANGE_LOGS = ("debezium-json", "canal-json")
"""The formats whose envelope says what becomes of a row."""
BadRecords = Annotated[
    Annotated[Literal["fail", "skip"], Tag(WORD)] | Annotated[DeadLetter, Tag(TAG + "dead-letter")],
    by_shape("fail, skip, {dead-letter: topic}", {"dead-letter": DeadLetter}),
]


class KafkaSource(Section):
    """Records of one or several Kafka topics."""

    bootstrap_servers: Annotated[
        tuple[Text, ...], BeforeValidator(servers("localhost:9092")), Shown("host:port, …")
    ] = Field(description="Brokers to ask first.")
    topics: Topics | None = Field(default=None, description="Topics to read; or topic-pattern.")
    topic_pattern: Annotated[Text, AfterValidator(_pattern), Shown("regular expression")] | None = Field(
        default=None, description="Reads every topic whose whole name matches; or topics."
    )
    group_id: Text | None = Field(
        default=None, description="Consumer group that start: group-offsets reads and commit writes."
    )
    start: Start = Field(
        default_factory=lambda data: "group-offsets" if data.get("group_id") else "earliest",
        description="Where a job without a checkpoint begins.",
        json_schema_extra={"default": "group-offsets with a group-id, else earliest"},
    )
    start_fallback: Literal["earliest", "latest", "none"] = Field(
        default="earliest",
        description="Where to begin in partitions without a group offset; none refuses to start.",
    )
    stop: Stop = Field(default="never", description="Where the job ends as FINISHED.")
    commit: Literal["on-checkpoints", "periodic", "disabled"] = Field(
        default_factory=lambda data: "on-checkpoints" if data.get("group_id") else "disabled",
        description="When the offsets of completed checkpoints are committed to the group.",
        json_schema_extra={"default": "on-checkpoints with a group-id, else disabled"},
    )
    commit_interval: PositiveDuration = Field(
        default=timedelta(seconds=5), description="Time between commits where commit is periodic."
    )
    format: Format = Field(default="raw", description="How a record's value becomes columns.")
    record_schema: Text | None = Field(
        default=None,
        alias="schema",
        description="Columns as DDL, in change logs those of a row; avro: its schema as JSON or path of an .avsc file.",
    )
    key_column: Column | None = Field(
        default=None, description="Column that takes the Kafka key of a record without a value."
    )
    bad_records: BadRecords = Field(
        default="fail", description="What happens to a record that cannot be processed."
    )
    watermark: WatermarkKey = Field(default_factory=Watermark, description="How event time advances.")
    partition_growth: PartitionGrowth = Field(
        default_factory=PartitionGrowth, description="How a growing number of partitions is borne."
    )
    max_offsets_per_trigger: Annotated[Count, Field(ge=1)] | None = Field(
        default=None, description="Most records per micro-batch, over all partitions."
    )
    connect_timeout: PositiveDuration = Field(
        default=timedelta(seconds=60), description="How long a start waits for Kafka to answer."
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        Hidden,
        Shown("Kafka client properties"),
    ] = Field(
        default_factory=dict, description="Passed to the Kafka clients; isolation.level is read_committed."
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def client_properties(self) -> Mapping[str, str]:
        """The properties of every Kafka client of this job, defaults included."""
        return {
            "isolation.level": "read_committed",
            **self.properties,
            "bootstrap.servers": ",".join(self.bootstrap_servers),
        }

    @field_validator("record_schema", mode="after")
    @classmethod
    def _read_avro(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is None or info.data.get("format") != "avro":
            return text
        folder = (info.context or {}).get("folder", Path())
        read = _avro_file(text, folder) if text.strip().endswith(".avsc") else text
        _check_avro(read)
        return text.with_text(read) if isinstance(text, Secret) else read

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of a Kafka source."""
        if self.topics and self.topic_pattern:
            yield ("topic-pattern", "topics"), "cannot stand beside topics; keep one of the two"
        if not self.topics and not self.topic_pattern:
            yield ("topics", "topic-pattern"), "is required, or topic-pattern"
        yield from self._group_faults()
        yield from self._schema_faults()
        yield from self._offset_faults()
        yield from self._property_faults()
        dead = self.bad_records.dead_letter if isinstance(self.bad_records, DeadLetter) else None
        if dead and self.reads(dead):
            message = f"{dead!r} is also read by this source, so its bad records would come back for ever"
            yield ("bad-records.dead-letter", "topics", "topic-pattern"), message

    def redacted(self) -> dict[str, Any]:
        """Return the settings without the interval of commits that are not periodic, which would be refused."""
        return {
            key: value
            for key, value in super().redacted().items()
            if key != "commit-interval" or self.commit == "periodic"
        }

    def reads(self, topic: str) -> bool:
        """Return whether a topic is one of those of this source."""
        if self.topic_pattern and "\\p" not in self.topic_pattern and "&&" not in self.topic_pattern:
            return re.fullmatch(self.topic_pattern, topic) is not None
        return topic in (self.topics or ())

    def _group_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        if not self.group_id:
            if self.start == "group-offsets":
                yield ("group-id", "start"), "is required where start is group-offsets"
            elif self.commit != "disabled":
                yield ("group-id", "commit"), f"is required where commit is {self.commit}"
        if self.commit != "periodic" and "commit_interval" in self.model_fields_set:
            yield ("commit-interval", "commit"), f"belongs to periodic, and commit is {self.commit}"

    def _schema_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        word = "python" if isinstance(self.format, PythonFormat) else self.format
        if word in ("raw", "string"):
            if self.record_schema is not None:
                yield (
                    ("schema", "format"),
                    f"has no meaning for format {word}; remove it or choose another format",
                )
        elif self.record_schema is None:
            yield ("schema", "format"), f"is required for format {word}"
        elif word != "avro" and re.search(r"(?i)(?:^|,)\s*`?_kafka`?[\s:]", self.record_schema):
            yield ("schema", "format"), "has a column _kafka, a name that is Milepost's own"
        if word in CHANGE_LOGS and self.key_column is not None:
            yield ("key-column", "format"), f"has no meaning for format {word}, whose envelope names the row"

    def _offset_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        for key, position in (("start", self.start), ("stop", self.stop)):
            if isinstance(position, AtOffsets | UntilOffsets) and (self.topics or self.topic_pattern):
                for topic in position.offsets:
                    if not self.reads(topic):
                        yield (f"{key}.offsets.{topic}", "topics", key), "is not a topic of this source"
        if isinstance(self.start, AtTimestamp) and isinstance(self.stop, AtTimestamp):
            if self.stop.timestamp < self.start.timestamp:
                yield ("stop.timestamp", "start", "stop"), "is before start.timestamp"
        if isinstance(self.start, AtOffsets) and isinstance(self.stop, UntilOffsets):
            yield from crossed(self.start.offsets, self.stop.offsets)

    def _property_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        level = self.properties.get("isolation.level", "read_committed")
        if level not in ("read_committed", "read_uncommitted"):
            yield ("properties.isolation.level",), "must be read_committed or read_uncommitted"
        yield from login_faults(self.properties)


# Both clients are set up by one list: Spark's would pass over these in silence and not get in.
_LIBRDKAFKAS = {
    "sasl.username": "sasl.jaas.config",
    "sasl.password": "sasl.jaas.config",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location with ssl.truststore.type PEM",
    "ssl.ca.pem": "ssl.truststore.certificates with ssl.truststore.type PEM",
    "ssl.certificate.location": "ssl.keystore.location with ssl.keystore.type PEM",
    "ssl.key.location": "ssl.keystore.location with ssl.keystore.type PEM",
}


def login_faults(properties: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the properties of a Kafka client that would run foreign code, or that only the other client knows."""
    for key, value in properties.items():
        if key in _LIBRDKAFKAS:
            yield (f"properties.{key}",), f"is librdkafka's word; write Java's, {_LIBRDKAFKAS[key]}"
        if key.endswith("jaas.config") and _LOGIN_MODULES.search(value):
            yield (f"properties.{key}",), "names a login module that can run foreign code; it is refused"


def _avro_file(name: str, folder: Path) -> str:
    try:
        return (folder / Path(name.strip()).expanduser()).read_text(encoding="utf-8")
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(f"file {name!r} cannot be read: {reason}") from None


def _check_avro(text: str) -> None:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is neither an Avro schema in JSON nor the path of an .avsc file") from None
    if not isinstance(schema, dict) or schema.get("type") != "record" or not schema.get("fields"):
        raise ValueError('must be an Avro record: {"type": "record", "name": …, "fields": […]}')
