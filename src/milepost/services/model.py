"""The nouns of the embedded services: what may be set, what they answer, what state they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from pathlib import Path

KAFKA = "kafka"
HBASE = "hbase"
ALL = frozenset({KAFKA, HBASE})


class State(str, Enum):
    """Whether a service can be used, as far as its record and its process tell."""

    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where clients connect; empty for a service that does not run."""

    bootstrap_servers: str
    quorum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One service as `milepost services status` shows it."""

    name: str
    state: State
    pid: int | None
    address: str
    log: Path
    uptime: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What differs from the usual embedded services; properties win over our defaults, not over addresses."""

    kafka_properties: Mapping[str, str] = field(default_factory=dict)
    hbase_properties: Mapping[str, str] = field(default_factory=dict)
    kafka_heap: str = "512m"
    hbase_heap: str = "1g"
    start_timeout: timedelta = timedelta(seconds=120)
    stop_timeout: timedelta = timedelta(seconds=20)
