"""Proves that a table equals its log, with a model of its own: nothing here is shared with the sink."""

from __future__ import annotations

from milepost.verify.proof import verify_pipeline
from milepost.verify.report import Finding, Kind, Report

__all__ = ["Finding", "Kind", "Report", "verify_pipeline"]
