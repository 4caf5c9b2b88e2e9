"""The first page, and what lies under /milepost."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, Server


def test_the_first_page_names_the_job(server: Server):
    page = server.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert f"Job {JOB} is RUNNING." in page.text
    assert "<script" not in page.text


def test_our_own_paths_have_no_version(server: Server):
    for path in ("progress", "checkpoints/pending", "plan"):
        assert server.get(f"/milepost/jobs/{JOB}/{path}").status == 200
        assert server.get(f"/v1/milepost/jobs/{JOB}/{path}").status == 404
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404
