"""Puts the routes together, with and without /v1, behind the guard."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from milepost.rest.flink import (
    checkpoints,
    cluster,
    jobs,
    metrics,
    refused,
    savepoints,
    task_managers,
    vertices,
)
from milepost.rest.milepost import (
    api,
    checkpoint_history,
    dashboard,
    extensions,
    web,
)
from milepost.rest.server.access import Rules
from milepost.rest.server.allow import NOT_ALLOWED, AllowedMethods
from milepost.rest.server.audit import Audit
from milepost.rest.server.auth import Guard
from milepost.rest.server.openapi import DescribedApp
from milepost.rest.server.refusal import Refusal, errors
from milepost.rest.view.live_view import Served
from milepost.rest.view.operations import Operations

# In this order: `/taskmanagers/metrics` must not be taken for the id of a task manager.
FLINK = (
    cluster.router,
    metrics.router,
    task_managers.router,
    jobs.router,
    vertices.router,
    checkpoints.router,
    savepoints.router,
    refused.router,
)
OWN = (
    extensions.router,
    checkpoint_history.router,
    dashboard.router,
    api.router,
    metrics.prometheus,
    web.router,
)

_SENTENCES = {
    400: "Request did not match expected format.",
    404: "Not found.",
    405: "Method not allowed.",
}


def application(served: Served, operations: Operations, rules: Rules, audit: Audit | None) -> Guard:
    """Return what answers the requests to one job; changes are written down where there is an audit."""
    app = DescribedApp(
        title="Milepost",
        summary="A running job: Flink's paths, and what Flink has no path for under /milepost.",
        version=version("milepost"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.served = served
    app.state.operations = operations
    app.state.assets = web.assets()
    routers = [
        *((prefix, router) for prefix in ("", "/v1") for router in FLINK),
        *(("", each) for each in OWN),
    ]
    for prefix, router in routers:
        app.include_router(router, prefix=prefix)
    app.state.allowed = AllowedMethods.of(routers)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _not_routed)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, rules, audit)


def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)  # registered for it alone
    return JSONResponse(error.body(), error.status, headers=_allow(request, error.status))


def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Name the first thing that is wrong, and never repeat what was sent."""
    assert isinstance(error, RequestValidationError)  # registered for it alone
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str))
    if first["loc"][0] == "path":
        return JSONResponse(errors(f"Bad request, could not parse parameters: {place} is not an id."), 400)
    if first["loc"][0] == "query":
        return JSONResponse(errors(f"Bad request, could not parse parameters: {place}: {first['msg']}."), 400)
    what = f"{place}: {first['msg']}" if place else first["msg"]
    return JSONResponse(errors(f"Request did not match expected format: {what}."), 400)


def _not_routed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # registered for it alone
    status = error.status_code
    headers = {**(error.headers or {}), **_allow(request, status)}
    return JSONResponse(errors(_SENTENCES.get(status, "Refused.")), status, headers=headers)


def _allow(request: Request, status: int) -> dict[str, str]:
    """Return the methods of the path; the framework names those of its first route alone."""
    allowed: AllowedMethods = request.app.state.allowed
    return allowed.header(request.url.path) if status == NOT_ALLOWED else {}


def _failed(_: Request, __: Exception) -> JSONResponse:
    """Answer; the guard writes down what happened."""
    return JSONResponse(errors("Internal server error."), 500)
