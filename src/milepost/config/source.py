"""`source.kafka`: the topics, the offsets to start and stop at, and how records become columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag, ValidationInfo, field_validator

from milepost.config.reading.faults import TAG, KeyFault
from milepost.config.section import Section
from milepost.config.values.position import (
    AtOffsets,
    AtTimestamp,
    Start,
    Stop,
    UntilOffsets,
    find_inverted_ranges,
)
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    INTERNAL_TOPICS,
    WORD,
    Column,
    Count,
    EntryPoint,
    MaskSensitive,
    PositiveDuration,
    PropertyValue,
    Text,
    Topic,
    Topics,
    TypeLabel,
    by_shape,
    servers,
)
from milepost.config.watermark import Watermark, WatermarkKey

_OWNED = {
    "bootstrap.servers": "use bootstrap-servers",
    "group.id": "use group-id; the reader never joins the group",
    "group.instance.id": "the reader never joins a group",
    "enable.auto.commit": "offsets are part of the checkpoint; see commit",
    "auto.commit.interval.ms": "offsets are part of the checkpoint; see commit",
    "auto.offset.reset": "use start and start-fallback",
    "key.deserializer": "use format",
    "value.deserializer": "use format",
    "key.serializer": "use format",
    "value.serializer": "use format",
    "interceptor.classes": "Spark does not allow interceptors",
    "allow.auto.create.topics": "a job never creates its source topics",
    "exclude.internal.topics": "internal topics are never read",
    "config.providers": "use ${env:NAME} or ${file:path}",
}
# CVE-2023-25194 and CVE-2025-27818: these login modules allow the property to run arbitrary code.
_LOGIN_MODULES = re.compile(r"JndiLoginModule|LdapLoginModule")


def _property_key(key: str) -> str:
    if key.startswith("kafka."):
        raise ValueError(f"must be written without Spark's prefix: {key.removeprefix('kafka.')}")
    if key in _OWNED or key.startswith("config.providers."):
        raise ValueError(f"belongs to Milepost; {_OWNED.get(key, _OWNED['config.providers'])}")
    return key


def _pattern(text: str) -> str:
    # Java evaluates the pattern: only the syntax that Python and Java share can be checked here.
    if "\\p" not in text and "&&" not in text:
        try:
            compiled = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        internal = [topic for topic in INTERNAL_TOPICS if compiled.fullmatch(topic)]
        if internal:
            raise ValueError(
                f"also matches Kafka's internal topic {internal[0]}; start the pattern with (?!__)"
            )
    return text


class PythonFormat(Section):
    """A user-defined deserializer."""

    python: EntryPoint = Field(description="A function from the bytes of a record to a row.")


class DeadLetter(Section):
    """The topic for records that cannot be processed."""

    dead_letter: Topic = Field(description="Topic for bad records, which must exist.")


class PartitionGrowth(Section):
    """How the job handles new partitions, which move keys to other partitions."""

    transition: PositiveDuration = Field(
        default=timedelta(minutes=10),
        description="Time until all producers use the new partitions (their metadata.max.age.ms plus queued "
        "records); until then version: offset orders records by their timestamps.",
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
"""Formats whose envelope carries the operation on a row."""
BadRecords = Annotated[
    Annotated[Literal["fail", "skip"], Tag(WORD)] | Annotated[DeadLetter, Tag(TAG + "dead-letter")],
    by_shape("fail, skip, {dead-letter: topic}", {"dead-letter": DeadLetter}),
]


class KafkaSource(Section):
    """Records of one or more Kafka topics."""

    bootstrap_servers: Annotated[
        tuple[Text, ...], BeforeValidator(servers("localhost:9092")), TypeLabel("host:port, …")
    ] = Field(description="Initial brokers to connect to.")
    topics: Topics | None = Field(default=None, description="Topics to read; alternative to topic-pattern.")
    topic_pattern: Annotated[Text, AfterValidator(_pattern), TypeLabel("regular expression")] | None = Field(
        default=None,
        description="Regular expression that the full names of the topics to read match; alternative to topics.",
    )
    group_id: Text | None = Field(
        default=None, description="Consumer group for start: group-offsets and for commits."
    )
    start: Start = Field(
        default_factory=lambda data: "group-offsets" if data.get("group_id") else "earliest",
        description="Where a job without a checkpoint starts to read.",
        json_schema_extra={"default": "group-offsets with a group-id, otherwise earliest"},
    )
    start_fallback: Literal["earliest", "latest", "none"] = Field(
        default="earliest",
        description="Where to start in partitions without a group offset; none fails the start.",
    )
    stop: Stop = Field(default="never", description="Where a bounded job stops as FINISHED.")
    commit: Literal["on-checkpoints", "periodic", "disabled"] = Field(
        default_factory=lambda data: "on-checkpoints" if data.get("group_id") else "disabled",
        description="When the offsets of completed checkpoints are committed to the group.",
        json_schema_extra={"default": "on-checkpoints with a group-id, otherwise disabled"},
    )
    commit_interval: PositiveDuration = Field(
        default=timedelta(seconds=5), description="Time between commits if commit is periodic."
    )
    format: Format = Field(default="raw", description="Format of the record values.")
    record_schema: Text | None = Field(
        default=None,
        alias="schema",
        description="Columns as DDL (change logs: of a row); avro: schema as JSON, or path of an .avsc file.",
    )
    key_column: Column | None = Field(
        default=None, description="Column for the Kafka key of a record without a value."
    )
    bad_records: BadRecords = Field(
        default="fail", description="What to do with a record that cannot be processed."
    )
    watermark: WatermarkKey = Field(default_factory=Watermark, description="How the watermark advances.")
    partition_growth: PartitionGrowth = Field(
        default_factory=PartitionGrowth, description="Handling of new partitions."
    )
    max_offsets_per_trigger: Annotated[Count, Field(ge=1)] | None = Field(
        default=None, description="Maximum number of records per micro-batch, over all partitions."
    )
    connect_timeout: PositiveDuration = Field(
        default=timedelta(seconds=60), description="Time that a start waits for Kafka to answer."
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        MaskSensitive,
        TypeLabel("Kafka client properties"),
    ] = Field(
        default_factory=dict,
        description="Passed to the Kafka clients; isolation.level defaults to read_committed.",
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def client_properties(self) -> Mapping[str, str]:
        """The properties of the Kafka clients of this source, including defaults."""
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

    def find_faults(self) -> Iterator[KeyFault]:
        """Check which keys of a Kafka source can be combined."""
        if self.topics and self.topic_pattern:
            yield KeyFault(("topic-pattern", "topics"), "cannot be combined with topics; keep one of the two")
        if not self.topics and not self.topic_pattern:
            yield KeyFault(("topics", "topic-pattern"), "is required unless topic-pattern is set")
        yield from self._group_faults()
        yield from self._schema_faults()
        yield from self._offset_faults()
        yield from self._property_faults()
        dead = self.bad_records.dead_letter if isinstance(self.bad_records, DeadLetter) else None
        if dead and self.reads(dead):
            message = f"{dead!r} is also read by this source, so its bad records would circulate for ever"
            yield KeyFault(("bad-records.dead-letter", "topics", "topic-pattern"), message)

    def redacted(self) -> dict[str, Any]:
        """Return the settings; commit-interval only if it applies, because it could not be read back otherwise."""
        return {
            key: value
            for key, value in super().redacted().items()
            if key != "commit-interval" or self.commit == "periodic"
        }

    def reads(self, topic: str) -> bool:
        """Return whether this source reads the topic."""
        if self.topic_pattern and "\\p" not in self.topic_pattern and "&&" not in self.topic_pattern:
            return re.fullmatch(self.topic_pattern, topic) is not None
        return topic in (self.topics or ())

    def _group_faults(self) -> Iterator[KeyFault]:
        if not self.group_id:
            if self.start == "group-offsets":
                yield KeyFault(("group-id", "start"), "is required if start is group-offsets")
            elif self.commit != "disabled":
                yield KeyFault(("group-id", "commit"), f"is required if commit is {self.commit}")
        if self.commit != "periodic" and "commit_interval" in self.model_fields_set:
            yield KeyFault(("commit-interval", "commit"), f"applies to periodic, but commit is {self.commit}")

    def _schema_faults(self) -> Iterator[KeyFault]:
        word = "python" if isinstance(self.format, PythonFormat) else self.format
        if word in ("raw", "string"):
            if self.record_schema is not None:
                yield KeyFault(
                    ("schema", "format"),
                    f"does not apply to format {word}; remove it or choose another format",
                )
        elif self.record_schema is None:
            yield KeyFault(("schema", "format"), f"is required for format {word}")
        elif word != "avro" and re.search(r"(?i)(?:^|,)\s*`?_kafka`?[\s:]", self.record_schema):
            yield KeyFault(("schema", "format"), "has a column _kafka, which is reserved by Milepost")
        if word in CHANGE_LOGS and self.key_column is not None:
            yield KeyFault(
                ("key-column", "format"),
                f"does not apply to format {word}, whose envelope identifies the row",
            )

    def _offset_faults(self) -> Iterator[KeyFault]:
        for key, position in (("start", self.start), ("stop", self.stop)):
            if isinstance(position, AtOffsets | UntilOffsets) and (self.topics or self.topic_pattern):
                for topic in position.offsets:
                    if not self.reads(topic):
                        yield KeyFault(
                            (f"{key}.offsets.{topic}", "topics", key), "is not a topic of this source"
                        )
        if isinstance(self.start, AtTimestamp) and isinstance(self.stop, AtTimestamp):
            if self.stop.timestamp < self.start.timestamp:
                yield KeyFault(("stop.timestamp", "start", "stop"), "is before start.timestamp")
        if isinstance(self.start, AtOffsets) and isinstance(self.stop, UntilOffsets):
            yield from find_inverted_ranges(self.start.offsets, self.stop.offsets)

    def _property_faults(self) -> Iterator[KeyFault]:
        level = self.properties.get("isolation.level", "read_committed")
        if level not in ("read_committed", "read_uncommitted"):
            yield KeyFault(("properties.isolation.level",), "must be read_committed or read_uncommitted")
        yield from find_login_faults(self.properties)


# Spark's Java client would ignore these names silently and fail to authenticate.
_LIBRDKAFKAS = {
    "sasl.username": "sasl.jaas.config",
    "sasl.password": "sasl.jaas.config",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location with ssl.truststore.type PEM",
    "ssl.ca.pem": "ssl.truststore.certificates with ssl.truststore.type PEM",
    "ssl.certificate.location": "ssl.keystore.location with ssl.keystore.type PEM",
    "ssl.key.location": "ssl.keystore.location with ssl.keystore.type PEM",
}


def find_login_faults(properties: Mapping[str, str]) -> Iterator[KeyFault]:
    """Refuse Kafka properties that can run arbitrary code, and names that only librdkafka knows."""
    for key, value in properties.items():
        if key in _LIBRDKAFKAS:
            yield KeyFault(
                (f"properties.{key}",), f"is a librdkafka property; use Java's {_LIBRDKAFKAS[key]}"
            )
        if key.endswith("jaas.config") and _LOGIN_MODULES.search(value):
            yield KeyFault(
                (f"properties.{key}",),
                "names a login module that can run arbitrary code, which is not allowed",
            )


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
