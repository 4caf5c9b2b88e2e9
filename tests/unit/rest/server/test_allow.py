"""The methods of a path, over all its routes."""

from __future__ import annotations

from fastapi import APIRouter

from milepost.rest.server.allow import AllowedMethods


def test_the_methods_of_every_route_of_the_first_path_that_matches():
    router = APIRouter()
    router.get("/jobs/overview")(lambda: None)
    router.get("/jobs/{jobid}")(lambda: None)
    router.patch("/jobs/{jobid}")(lambda: None)
    router.get("/never", status_code=405)(lambda: None)
    allowed = AllowedMethods.of([("", router), ("/v1", router)])
    assert allowed.header("/jobs/x") == allowed.header("/v1/jobs/x") == {"Allow": "GET, PATCH"}
    assert allowed.header("/jobs/overview") == {"Allow": "GET"}
    assert allowed.header("/never") == {"Allow": ""}
    assert allowed.header("/elsewhere") == {}
