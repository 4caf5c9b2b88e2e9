"""`telemetry` and `logging`: the export of checkpoint spans, and the format of the log."""

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
    Text,
    TypeLabel,
    matching,
)

_TRACES = "/v1/traces"


def _endpoint(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not an address such as http://127.0.0.1:4318")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(
            "must consist of scheme, host, port and path only; put secrets into telemetry.headers"
        )
    return text.rstrip("/")


def _header(name: str) -> str:
    return matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", "is not a valid header name")(name)


def _value(text: str) -> Secret:
    if not text.isascii() or not text.isprintable():
        raise ValueError("must be printable ASCII characters without line breaks")
    return text if isinstance(text, Secret) else Secret(text)


class Telemetry(Section):
    """Export of checkpoint spans."""

    otlp_endpoint: Annotated[Text, AfterValidator(_endpoint), TypeLabel("http address")] = Field(
        description="OTLP/HTTP collector, for example http://127.0.0.1:4318; /v1/traces is appended."
    )
    headers: Annotated[
        Mapping[Annotated[str, AfterValidator(_header)], Annotated[PropertyValue, AfterValidator(_value)]],
        TypeLabel("headers, all secret"),
    ] = Field(default_factory=dict, description="HTTP headers to send with every request.")
    timeout: PositiveDuration = Field(default=timedelta(seconds=10), description="Timeout of a request.")
    service_name: Text | None = Field(
        default=None, description="Resource attribute service.name of the spans; absent: the name of the job."
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def traces(self) -> str:
        """The URL to send spans to."""
        return self.otlp_endpoint if self.otlp_endpoint.endswith(_TRACES) else self.otlp_endpoint + _TRACES


Level = Literal["debug", "info", "warning", "error"]


class Logging(Section):
    """Log output of `milepost run`."""

    format: Literal["text", "json"] = Field(
        default="text",
        description="Format of the log; json: one object per line, on stderr and in the log of the driver's JVM.",
    )
    level: Level | None = Field(
        default=None,
        description="Minimum level of Milepost's own log lines; absent: warning for text, info for json.",
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def effective_level(self) -> Level:
        """The minimum level, with the default of the format."""
        return self.level or ("info" if self.format == "json" else "warning")
