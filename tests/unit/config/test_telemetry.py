"""Where spans go, and how lines of the log look."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.config import Logging, Telemetry, parse_config
from milepost.config.values.secret import MASK

ENDPOINT = "http://127.0.0.1:4318"

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"telemetry/otlp-endpoint": "127.0.0.1:4318"}, "telemetry.otlp-endpoint", "is not an address such as"),
    ({"telemetry/otlp-endpoint": "http://u:p@h:1"}, "telemetry.otlp-endpoint", "put secrets into"),
    ({"telemetry/otlp-endpoint": "http://h:1/?key=x"}, "telemetry.otlp-endpoint", "put secrets into"),
    (
        {"telemetry/otlp-endpoint": ENDPOINT, "telemetry/headers": {"x": "a\r\nhost: evil"}},
        "telemetry.headers.x",
        "without line breaks",
    ),
    (
        {"telemetry/otlp-endpoint": ENDPOINT, "telemetry/headers": {"x y": "a"}},
        "telemetry.headers.x y",
        "is not a valid header name",
    ),
    ({"logging/format": "xml"}, "logging.format", "json"),
    ({"logging/level": "loud"}, "logging.level", "debug"),
]


@pytest.mark.parametrize(("changes", "key", "sentence"), REFUSED)
def test_what_is_refused(changes, key, sentence, faults):
    found = faults(changes)
    assert any(key.startswith(path.split("[")[0]) and sentence in text for path, text in found.items()), found


@pytest.mark.parametrize("endpoint", [ENDPOINT, ENDPOINT + "/", ENDPOINT + "/v1/traces"])
def test_spans_go_to_the_path_of_traces(endpoint):
    assert Telemetry(otlp_endpoint=endpoint).traces == f"{ENDPOINT}/v1/traces"


def test_headers_are_secret(job):
    changes = {"telemetry/otlp-endpoint": ENDPOINT, "telemetry/headers": {"x-tenant": "blue-whale"}}
    config = parse_config(job(changes))
    assert config.redacted()["telemetry"]["headers"] == {"x-tenant": MASK}
    assert "blue-whale" not in repr(config)
    assert config.redact("sent blue-whale") == f"sent {MASK}"


def test_the_level_follows_from_the_format_unless_it_is_given():
    assert [Logging(format=f).effective_level for f in ("text", "json")] == ["warning", "info"]
    assert Logging(format="json", level="error").effective_level == "error"


def test_without_the_sections_there_are_no_spans_and_the_log_is_text(job):
    config = parse_config(job({}))
    assert (config.telemetry, config.logging.format) == (None, "text")
