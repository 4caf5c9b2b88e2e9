"""What charts and tools of a page need: series, time line, graph, offsets, savepoints and dry runs of restores."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from milepost.rest.milepost import graph as graphs
from milepost.rest.milepost import offsets as positions
from milepost.rest.milepost import savepoints as shelf
from milepost.rest.milepost import series as charts
from milepost.rest.milepost import timeline as states
from milepost.rest.server.parameters import ServedJob
from milepost.rest.server.refusal import Refusal

router = APIRouter(prefix="/milepost/jobs/{jobid}", tags=["milepost"])

SavepointName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")]


@router.get("/series")
def series(served: ServedJob, since: Annotated[int | None, Query(ge=0)] = None) -> dict[str, Any]:
    """Return samples of the last half hour, and the checkpoints that ended."""
    watch = served.watch
    return charts.series(watch.sampler.samples(), watch.recollection.marks(), served.now(), since)


@router.get("/timeline")
def timeline(served: ServedJob) -> dict[str, Any]:
    """Return the job's states over time, over restarts and drivers."""
    job = served.job
    now = states.Now(job.job_id, job.status, served.now())
    return states.timeline(served.watch.recollection.stays(), now)


@router.get("/graph")
def graph(served: ServedJob) -> dict[str, Any]:
    """Return the pipeline as a graph with live rates."""
    return graphs.graph(
        served.config, served.checkpoints(), served.job.latest_progress, served.watch.sampler.newest()
    )


@router.get("/offsets")
def offsets(served: ServedJob) -> dict[str, Any]:
    """Return per partition checkpoint, group and broker, as the broker said a moment ago."""
    watch = served.watch
    return positions.offsets(watch.standing(), watch.newest(), served.now())


@router.get("/savepoints")
def savepoints(served: ServedJob) -> dict[str, Any]:
    """Return the savepoints of the configured directory."""
    watch = served.watch
    return shelf.listing(watch.shelf.savepoints(), served.config, watch.rehearsals.known)


@router.get("/savepoints/{name}/check")
def check(served: ServedJob, name: SavepointName) -> dict[str, Any]:
    """Return the dry run of a restore; one is begun where there is none from a moment ago. It changes nothing."""
    savepoint = served.watch.shelf.find(name)
    if savepoint is None:
        raise Refusal(404, "There is no savepoint of this name in the configured directory.")
    return shelf.check(served.watch.rehearsals.look(name, savepoint))
