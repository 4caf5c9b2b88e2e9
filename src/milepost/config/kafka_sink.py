"""`sink.kafka`: which topic, how a row becomes a record, and how its transactions are named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from milepost.config.section import Section
from milepost.config.source import login_faults
from milepost.config.values.value import (
    Column,
    Columns,
    Hidden,
    PositiveDuration,
    PropertyValue,
    Shown,
    Text,
    Topic,
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
    "interceptor.classes": "what a foreign class changes cannot be exactly once",
    "config.providers": "use ${env:NAME} or ${file:path}",
}


def _property_key(key: str) -> str:
    if key in _OWNED or key.startswith("config.providers."):
        raise ValueError(f"belongs to Milepost; {_OWNED.get(key, _OWNED['config.providers'])}")
    return key


class KafkaSink(Section):
    """A topic of Kafka, exactly once by transactions."""

    bootstrap_servers: Annotated[
        tuple[Text, ...], BeforeValidator(servers("localhost:9092")), Shown("host:port, …")
    ] = Field(description="Brokers to ask first.")
    topic: Topic | None = Field(default=None, description="The topic; it must exist. Or topic-column.")
    topic_column: Column | None = Field(
        default=None, description="Column that names the topic of each row; or topic."
    )
    key: Column | None = Field(default=None, description="Column that is the record's key; absent: none.")
    format: Literal["json", "string", "raw"] = Field(
        default="json",
        description="How a row becomes the record's value: all columns as JSON, or one as text or bytes.",
    )
    columns: Columns | None = Field(
        default=None,
        description="Columns of the JSON.",
        json_schema_extra={"default": "all but topic-column"},
    )
    value: Column | None = Field(default=None, description="Column of the value, for string and raw.")
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
        description="What the ids of the job's transactions begin with; no two jobs may share it.",
        json_schema_extra={"default": "from the job's name and checkpointing.dir"},
    )
    transaction_timeout: PositiveDuration = Field(
        default=timedelta(minutes=15),
        description="Time after which the broker aborts a transaction; a job must be back within it after a crash.",
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        Hidden,
        Shown("Kafka client properties"),
    ] = Field(default_factory=dict, description="Passed to the producers.")

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def client_properties(self) -> Mapping[str, str]:
        """The properties of every Kafka client of this sink."""
        return {**self.properties, "bootstrap.servers": ",".join(self.bootstrap_servers)}

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of a Kafka sink."""
        if self.topic and self.topic_column:
            yield ("topic-column", "topic"), "cannot stand beside topic; keep one of the two"
        if not self.topic and not self.topic_column:
            yield ("topic", "topic-column"), "is required, or topic-column"
        if self.format == "json" and self.value is not None:
            yield ("value", "format"), "has no meaning for format json; use columns, or another format"
        if self.format != "json" and self.value is None:
            yield ("value", "format"), f"is required for format {self.format}"
        if self.format != "json" and self.columns is not None:
            yield ("columns", "format"), f"has no meaning for format {self.format}; use value"
        yield from login_faults(self.properties)
