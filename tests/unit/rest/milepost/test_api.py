"""The page for people who look for a path."""

from __future__ import annotations

from tests.unit.rest.asgi import Server


def test_the_page_names_the_paths_and_has_no_script(server: Server):
    page = server.get("/milepost/api")
    assert page.headers["content-type"].startswith("text/html")
    assert "/jobs/{jobid}/checkpoints" in page.text
    assert "/milepost/jobs/{jobid}/participants" in page.text
    assert "<script" not in page.text
    assert " style=" not in page.text
    assert server.get("/milepost/api", authorization="").status == 401
