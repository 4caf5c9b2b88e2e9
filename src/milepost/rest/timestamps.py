"""Timestamps in the format of the REST interface."""

from __future__ import annotations

from datetime import datetime


def milliseconds(moment: datetime) -> int:
    """Return a time in milliseconds since the epoch, as Flink writes it."""
    return round(moment.timestamp() * 1000)
