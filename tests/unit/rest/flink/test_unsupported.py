"""What a single job cannot do is refused with what to do instead."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import JOB, Server


@pytest.mark.parametrize(
    ("method", "path", "status", "instead"),
    [
        ("POST", "/jars/upload", 403, "milepost run"),
        ("POST", "/jars/x/run", 403, "milepost run"),
        ("DELETE", "/cluster", 403, "mode=cancel"),
        ("PUT", f"/jobs/{JOB}/resource-requirements", 403, "spark.master"),
        ("GET", f"/jobs/{JOB}/yarn-cancel", 405, "PATCH"),
        ("GET", f"/jobs/{JOB}/yarn-stop", 405, "PATCH"),
    ],
)
def test_refused_with_what_to_do(server: Server, method: str, path: str, status: int, instead: str):
    answer = server.ask(method, path)
    assert answer.status == status
    assert instead in answer.json["errors"][0]
    assert server.job.asked == []


def test_there_are_no_jars(server: Server):
    assert server.get("/jars").json == {"address": "", "files": []}
    assert server.get("/v2/jars").status == 404
