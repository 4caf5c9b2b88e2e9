"""The settings, states and addresses of the embedded services."""

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
    """The state of a service, from its record and its process."""

    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where clients connect; empty for a service that is not running."""

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
    """Settings of the embedded services; properties override our defaults, but not addresses."""

    kafka_properties: Mapping[str, str] = field(default_factory=dict)
    hbase_properties: Mapping[str, str] = field(default_factory=dict)
    kafka_heap: str = "512m"
    hbase_heap: str = "1g"
    start_timeout: timedelta = timedelta(seconds=120)
    stop_timeout: timedelta = timedelta(seconds=20)
