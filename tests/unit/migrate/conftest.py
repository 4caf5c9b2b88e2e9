"""A checkpoint directory as Spark leaves it, and the two kinds of store."""

from __future__ import annotations

from tests.unit.checkpoint.conftest import spark, store

__all__ = ["spark", "store"]
