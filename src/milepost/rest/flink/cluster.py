"""The driver as Flink's cluster."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter

from milepost.rest.flink import cluster_body
from milepost.rest.server.parameters import ServedHere

router = APIRouter(tags=["cluster"])


@router.get("/overview")
def overview(served: ServedHere) -> dict[str, Any]:
    """Return an overview over the cluster."""
    newest = served.checkpoints().latest_completed
    return cluster_body.overview(served.job.status, len(newest.acknowledgements) if newest else 0)


@router.get("/config")
def config() -> dict[str, Any]:
    """Return what a dashboard needs to know first."""
    return cluster_body.configuration(datetime.now().astimezone())
