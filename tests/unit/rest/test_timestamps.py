"""Timestamps as Flink writes them."""

from __future__ import annotations

from datetime import datetime, timezone

from milepost.rest.timestamps import milliseconds


def test_milliseconds_since_the_epoch():
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 499_600, tzinfo=timezone.utc)) == 1500
