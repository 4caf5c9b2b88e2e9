"""The demonstrations: each starts what it needs, shows one property, and cleans up afterwards."""

from __future__ import annotations
