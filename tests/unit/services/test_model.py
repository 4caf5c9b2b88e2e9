from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from milepost.services.model import ALL, Settings, State


def test_settings_are_small_by_default_and_frozen():
    settings = Settings()
    assert (settings.kafka_heap, settings.hbase_heap) == ("512m", "1g")
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.stop_timeout = timedelta(0)  # type: ignore[misc]


def test_states_read_as_users_see_them():
    assert [state.value for state in State] == ["running", "starting", "stopped", "stale"]
    assert frozenset({"kafka", "hbase"}) == ALL
