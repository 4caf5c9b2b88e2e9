"""Where topics end is asked over the same connections, and never with a masked password."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.config.conftest import changed

from milepost.config import parse_config
from milepost.errors import NotReachableError
from milepost.inspect import broker
from milepost.rest.view.kafka_query import TopicEnds, require_secrets


class FakeBroker:
    made = 0

    @classmethod
    def of_source(cls, source: Any, timeout: float) -> FakeBroker:
        cls.made += 1
        return cls()

    def latest(self, topics: Sequence[str], pattern: str | None) -> dict[str, dict[int, int]]:
        return {topic: {0: 7} for topic in topics}


def test_ends_are_asked_over_one_connection(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(broker, "Broker", FakeBroker)
    FakeBroker.made = 0
    ends = TopicEnds(parse_config(changed({})))
    assert [ends(), ends()] == [{"orders": {0: 7}}] * 2
    assert FakeBroker.made == 1


def test_a_masked_password_is_not_tried():
    masked = changed({"source/kafka/properties": {"sasl.jaas.config": "password='******'"}})
    with pytest.raises(NotReachableError, match=r"sasl\.jaas\.config masked"):
        require_secrets(parse_config(masked))
    with pytest.raises(NotReachableError, match="Pass the pipeline's FILE"):
        TopicEnds(parse_config(masked))()
    require_secrets(parse_config(changed({})))
