from __future__ import annotations

from typing import Any

import pytest

from milepost.config import KafkaSink
from milepost.errors import ConfigError

GIVEN: dict[str, Any] = {"bootstrap-servers": "localhost:9092", "topic": "out"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topic": None}, "topic: is required unless topic-column is set"),
        ({"topic-column": "t"}, "topic-column: cannot be combined with topic"),
        ({"value": "v"}, "value: does not apply to format json"),
        ({"format": "raw"}, "value: is required for format raw"),
        ({"format": "string", "value": "v", "columns": ["a"]}, "columns: does not apply to format string"),
        ({"properties": {"transactional.id": "x"}}, "transactional.id: belongs to Milepost"),
        ({"properties": {"acks": 1}}, "acks: belongs to Milepost; it is always all"),
        ({"properties": {"sasl.jaas.config": "…JndiLoginModule…"}}, "can run arbitrary code"),
        ({"transactional-id-prefix": "a b"}, "1 to 200 letters"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], sentence: str):
    values = {key: value for key, value in (GIVEN | changes).items() if value is not None}
    with pytest.raises(ConfigError, match=sentence):
        KafkaSink(**values)


def test_the_servers_are_a_property_of_every_client():
    sink = KafkaSink(**GIVEN, properties={"linger.ms": 5})
    assert sink.client_properties == {"bootstrap.servers": "localhost:9092", "linger.ms": "5"}
