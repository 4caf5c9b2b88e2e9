"""A seeded stream of orders: inserts, updates, deletes and re-inserts of the same keys. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import NamedTuple

SCHEMA = "id STRING, customer STRING, amount DOUBLE, seq BIGINT, op STRING"

_RECORDS_PER_KEY = 4
_DELETE_SHARE = 0.15
_TOMBSTONE_SHARE = 0.3


class Event(NamedTuple):
    """One record to produce; without a value it is a tombstone."""

    key: bytes
    value: bytes | None
    partition: int = -1
    """The target partition; -1 lets Kafka choose it by the key."""


def events(count: int, seed: int) -> Iterator[Event]:
    """Yield `count` events; the same seed gives the same events.

    `seq` counts the events of a key without gaps, so that a value identifies its event.
    """
    # Not for secrets: the same seed must give the same events.
    choose = random.Random(seed)
    sequences: dict[int, int] = {}
    alive: set[int] = set()
    keys = max(1, count // _RECORDS_PER_KEY)
    for _ in range(count):
        number = choose.randrange(keys)
        key = f"order-{number:07d}"
        sequences[number] = sequences.get(number, -1) + 1
        if number in alive and choose.random() < _DELETE_SHARE:
            alive.discard(number)
            yield _delete(key, sequences[number], is_tombstone=choose.random() < _TOMBSTONE_SHARE)
        else:
            alive.add(number)
            yield _upsert(key, sequences[number], choose)


def _upsert(key: str, seq: int, choose: random.Random) -> Event:
    document = {
        "id": key,
        "customer": f"customer-{choose.randrange(5000):04d}",
        "amount": choose.randrange(100, 1_000_000) / 100,
        "seq": seq,
        "op": "upsert",
    }
    return Event(key.encode(), json.dumps(document).encode())


def _delete(key: str, seq: int, *, is_tombstone: bool) -> Event:
    value = None if is_tombstone else json.dumps({"id": key, "seq": seq, "op": "delete"}).encode()
    return Event(key.encode(), value)
