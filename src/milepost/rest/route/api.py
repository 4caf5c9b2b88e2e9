"""The description of the interface, as a page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from milepost.rest.body import api

router = APIRouter(tags=["milepost"])


@router.get("/milepost/api", response_class=HTMLResponse)
def page(request: Request) -> HTMLResponse:
    """Return this description as a page."""
    return HTMLResponse(api.page(request.app.openapi()))
