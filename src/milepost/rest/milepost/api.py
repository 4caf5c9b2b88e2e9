"""The description of the interface, as a page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from milepost.rest.milepost import api_body

router = APIRouter(tags=["milepost"])


@router.get("/milepost/api", response_class=HTMLResponse)
def page(request: Request) -> HTMLResponse:
    """Return this description as a page."""
    return HTMLResponse(api_body.page(request.app.openapi()))
