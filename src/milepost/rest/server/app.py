"""Assembles the application: the routes with and without /v1, behind the authentication middleware."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from milepost.rest.flink import (
    checkpoints,
    cluster,
    exceptions,
    jobs,
    metrics,
    savepoints,
    task_managers,
    unsupported,
    vertices,
)
from milepost.rest.milepost import (
    api,
    checkpoint_history,
    extensions,
    graph,
    offsets,
    series,
    timeline,
    web,
)
from milepost.rest.milepost import savepoints as savepoint_list
from milepost.rest.server.access import Rules
from milepost.rest.server.allow import NOT_ALLOWED, AllowedMethods
from milepost.rest.server.audit import Audit
from milepost.rest.server.auth import AuthMiddleware
from milepost.rest.server.openapi import DescribedApp
from milepost.rest.server.refusal import Refusal, errors
from milepost.rest.view.job_view import JobView
from milepost.rest.view.operations import Operations

# The order matters: `/taskmanagers/metrics` must not match as the id of a task manager.
FLINK = (
    cluster.router,
    metrics.router,
    task_managers.router,
    jobs.router,
    exceptions.router,
    vertices.router,
    checkpoints.router,
    savepoints.router,
    unsupported.router,
)
OWN = (
    extensions.router,
    checkpoint_history.router,
    series.router,
    timeline.router,
    graph.router,
    offsets.router,
    savepoint_list.router,
    api.router,
    metrics.prometheus,
    web.router,
)

_SENTENCES = {
    400: "Request did not match expected format.",
    404: "Not found.",
    405: "Method not allowed.",
}


def create_app(view: JobView, operations: Operations, rules: Rules, audit: Audit | None) -> AuthMiddleware:
    """Return the application that serves one job; without an audit log, changes are not recorded."""
    app = DescribedApp(
        title="Milepost",
        summary="A running job: Flink's REST paths, and extensions under /milepost.",
        version=version("milepost"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.view = view
    app.state.operations = operations
    app.state.assets = web.assets()
    routers = [
        *((prefix, router) for prefix in ("", "/v1") for router in FLINK),
        *(("", each) for each in OWN),
    ]
    for prefix, router in routers:
        app.include_router(router, prefix=prefix)
    app.state.allowed = AllowedMethods.of(routers)
    app.add_exception_handler(Refusal, _handle_refusal)
    app.add_exception_handler(RequestValidationError, _handle_invalid)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_failure)
    return AuthMiddleware(app, rules, audit)


def _handle_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)  # registered for it alone
    return JSONResponse(error.body(), error.status, headers=_allow(request, error.status))


def _handle_invalid(_: Request, error: Exception) -> JSONResponse:
    """Name the first error without repeating the input."""
    assert isinstance(error, RequestValidationError)  # registered for it alone
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str))
    if first["loc"][0] == "path":
        return JSONResponse(errors(f"Bad request, could not parse parameters: {place} is not an id."), 400)
    if first["loc"][0] == "query":
        return JSONResponse(errors(f"Bad request, could not parse parameters: {place}: {first['msg']}."), 400)
    what = f"{place}: {first['msg']}" if place else first["msg"]
    return JSONResponse(errors(f"Request did not match expected format: {what}."), 400)


def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # registered for it alone
    status = error.status_code
    headers = {**(error.headers or {}), **_allow(request, status)}
    return JSONResponse(errors(_SENTENCES.get(status, "Refused.")), status, headers=headers)


def _allow(request: Request, status: int) -> dict[str, str]:
    """Return the methods of the path; the framework names only those of the first matching route."""
    allowed: AllowedMethods = request.app.state.allowed
    return allowed.header(request.url.path) if status == NOT_ALLOWED else {}


def _handle_failure(_: Request, __: Exception) -> JSONResponse:
    """Return a 500; the middleware logs the error."""
    return JSONResponse(errors("Internal server error."), 500)
