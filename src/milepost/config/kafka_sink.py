"""`sink.kafka`: the topic, the mapping of rows to records, and the transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section
from milepost.config.source import find_login_faults
from milepost.config.values.value import (
    Column,
    Columns,
    MaskSensitive,
    PositiveDuration,
    PropertyValue,
    Text,
    Topic,
    TypeLabel,
    matching,
    servers,
)

_OWNED = {
    "bootstrap.servers": "use bootstrap-servers",
    "transactional.id": "use transactional-id-prefix",
    "transaction.timeout.ms": "use transaction-timeout",
    "enable.idempotence": "it is always on",
    "acks": "it is always all",
    "key.serializer": "use key and format",
    "value.serializer": "use value and format",
    "interceptor.classes": "interceptors would break exactly-once delivery",
    "config.providers": "use ${env:NAME} or ${file:path}",
}


def _property_key(key: str) -> str:
    if key in _OWNED or key.startswith("config.providers."):
        raise ValueError(f"belongs to Milepost; {_OWNED.get(key, _OWNED['config.providers'])}")
    return key


class KafkaSink(Section):
    """A Kafka topic, written exactly once through transactions."""

    bootstrap_servers: Annotated[
        tuple[Text, ...], BeforeValidator(servers("localhost:9092")), TypeLabel("host:port, …")
    ] = Field(description="Initial brokers to connect to.")
    topic: Topic | None = Field(
        default=None, description="Topic to write to, which must exist; alternative to topic-column."
    )
    topic_column: Column | None = Field(
        default=None, description="Column that holds the topic of each row; alternative to topic."
    )
    key: Column | None = Field(default=None, description="Column for the key of the record; absent: no key.")
    format: Literal["json", "string", "raw"] = Field(
        default="json",
        description="How a row becomes the value of the record: all columns as JSON, or one column as text or bytes.",
    )
    columns: Columns | None = Field(
        default=None,
        description="Columns to include in the JSON.",
        json_schema_extra={"default": "all but topic-column"},
    )
    value: Column | None = Field(default=None, description="Column for the value, for string and raw.")
    transactional_id_prefix: (
        Annotated[
            Text,
            AfterValidator(
                matching(r"[A-Za-z0-9._-]{1,200}", "must be 1 to 200 letters, digits, '.', '_' or '-'")
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Prefix of the job's transactional ids; must be unique per job.",
        json_schema_extra={"default": "from the job's name and checkpointing.dir"},
    )
    transaction_timeout: PositiveDuration = Field(
        default=timedelta(minutes=15),
        description="Time after which the broker aborts a transaction; a job must recover from a crash within it.",
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        MaskSensitive,
        TypeLabel("Kafka client properties"),
    ] = Field(default_factory=dict, description="Passed to the producers.")

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def client_properties(self) -> Mapping[str, str]:
        """The properties of the Kafka clients of this sink."""
        return {**self.properties, "bootstrap.servers": ",".join(self.bootstrap_servers)}

    def find_faults(self) -> Iterator[KeyFault]:
        """Check which keys of a Kafka sink can be combined."""
        if self.topic and self.topic_column:
            yield KeyFault(("topic-column", "topic"), "cannot be combined with topic; keep one of the two")
        if not self.topic and not self.topic_column:
            yield KeyFault(("topic", "topic-column"), "is required unless topic-column is set")
        if self.format == "json" and self.value is not None:
            yield KeyFault(
                ("value", "format"), "does not apply to format json; use columns, or another format"
            )
        if self.format != "json" and self.value is None:
            yield KeyFault(("value", "format"), f"is required for format {self.format}")
        if self.format != "json" and self.columns is not None:
            yield KeyFault(("columns", "format"), f"does not apply to format {self.format}; use value")
        yield from find_login_faults(self.properties)
