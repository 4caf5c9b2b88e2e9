"""Stories that run: each starts what it needs, shows one property, and cleans up after itself."""

from __future__ import annotations
