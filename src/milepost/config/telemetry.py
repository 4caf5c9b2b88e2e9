"""`telemetry` and `logging`: where spans of checkpoints go, and how lines of the log look."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    PositiveDuration,
    PropertyValue,
    Shown,
    Text,
    matching,
)

_TRACES = "/v1/traces"


def _endpoint(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not an address such as http://127.0.0.1:4318")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must be scheme, host, port and path only; secrets belong into telemetry.headers")
    return text.rstrip("/")


def _header(name: str) -> str:
    return matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", "is not the name of a header")(name)


def _value(text: str) -> Secret:
    if not text.isascii() or not text.isprintable():
        raise ValueError("must be printable letters, digits and signs, without line breaks")
    return text if isinstance(text, Secret) else Secret(text)


class Telemetry(Section):
    """Where spans of checkpoints go."""

    otlp_endpoint: Annotated[Text, AfterValidator(_endpoint), Shown("http address")] = Field(
        description="A collector that takes OTLP over HTTP, for example http://127.0.0.1:4318; /v1/traces is added."
    )
    headers: Annotated[
        Mapping[Annotated[str, AfterValidator(_header)], Annotated[PropertyValue, AfterValidator(_value)]],
        Shown("headers, all secret"),
    ] = Field(default_factory=dict, description="Sent with every request.")
    timeout: PositiveDuration = Field(
        default=timedelta(seconds=10), description="How long one request may take."
    )
    service_name: Text | None = Field(
        default=None, description="service.name of the spans; absent: the name of the job."
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def traces(self) -> str:
        """The address that spans are sent to."""
        return self.otlp_endpoint if self.otlp_endpoint.endswith(_TRACES) else self.otlp_endpoint + _TRACES


Level = Literal["debug", "info", "warning", "error"]


class Logging(Section):
    """How `milepost run` writes its log."""

    format: Literal["text", "json"] = Field(
        default="text", description="json: one object per line, on stderr and in the log of the driver's JVM."
    )
    level: Level | None = Field(
        default=None,
        description="Least level of Milepost's own lines; absent: warning for text, info for json.",
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def least(self) -> Level:
        """The level that holds."""
        return self.level or ("info" if self.format == "json" else "warning")
