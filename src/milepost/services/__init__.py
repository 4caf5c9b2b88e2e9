"""Embedded Kafka and HBase: real servers as child JVMs on loopback ports, data under one directory."""

from __future__ import annotations

from milepost.services.instance import Services
from milepost.services.model import ALL, Endpoints, ServiceStatus, Settings, State

__all__ = ["ALL", "Endpoints", "ServiceStatus", "Services", "Settings", "State"]
