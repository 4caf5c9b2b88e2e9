"""Proves that a table equals its log, with an independent model: no code is shared with the sink."""

from __future__ import annotations

from milepost.verify.proof import At, prepare, verify_pipeline
from milepost.verify.report import Finding, Kind, Report

__all__ = ["At", "Finding", "Kind", "Report", "prepare", "verify_pipeline"]
