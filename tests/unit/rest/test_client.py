"""Speaking to a job: what came of it, or a sentence with the right exit code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from milepost.errors import ConfigError, JobFailedError, MilepostError, NotReachableError
from milepost.rest.client import Client, split_address


class Script(BaseHTTPRequestHandler):
    answers: ClassVar[list[tuple[int, Any]]] = []

    def do_GET(self) -> None:
        status, body = self.answers.pop(0)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test silent."""


@pytest.fixture
def client() -> Iterator[Client]:
    with HTTPServer(("127.0.0.1", 0), Script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Client(address=f"http://127.0.0.1:{server.server_port}", token="secret-token")
        server.shutdown()
        thread.join()


IN_PROGRESS = (200, {"status": {"id": "IN_PROGRESS"}, "operation": None})


def completed(**operation: Any) -> tuple[int, Any]:
    return 200, {"status": {"id": "COMPLETED"}, "operation": operation}


def test_an_operation_is_waited_for(client: Client):
    Script.answers = [IN_PROGRESS, completed(location="/s/1")]
    looks: list[int] = []
    assert client.wait("/x", lambda: looks.append(1)) == {"location": "/s/1"}
    assert looks == [1]


@pytest.mark.parametrize("key", ["failure-cause", "failureCause"])
def test_a_failed_operation_says_why(key: str, client: Client):
    Script.answers = [completed(**{key: {"class": "X", "stack-trace": "The disk is full."}})]
    with pytest.raises(JobFailedError, match="The disk is full"):
        client.wait("/x")


REFUSED: list[tuple[int, Any, type[MilepostError], int]] = [
    (401, {"errors": ["A valid token is required"]}, ConfigError, 2),
    (404, {"errors": ["Job x not found"]}, NotReachableError, 3),
    (400, {"errors": ["Property [x] is wrong"]}, ConfigError, 2),
    (503, {"errors": ["Too many"]}, JobFailedError, 1),
    (500, {"errors": ["Internal server error."]}, JobFailedError, 1),
    (200, b"<html>another server</html>", NotReachableError, 3),
    (200, [], NotReachableError, 3),
]


@pytest.mark.parametrize(("status", "body", "kind", "code"), REFUSED)
def test_a_refusal_has_its_exit_code(
    status: int, body: Any, kind: type[MilepostError], code: int, client: Client
):
    Script.answers = [(status, body)]
    with pytest.raises(kind) as refused:
        client.get("/x")
    assert refused.value.exit_code == code
    assert "secret-token" not in str(refused.value)


def test_nobody_there():
    with pytest.raises(NotReachableError, match=r"No job answers at http://127\.0\.0\.1:1"):
        Client(address="http://127.0.0.1:1", token="x").job_id()


def test_addresses():
    assert split_address("http://127.0.0.1:8081/?token=abc") == ("http://127.0.0.1:8081", "abc")
    assert split_address("https://host:1") == ("https://host:1", None)
    assert split_address("orders") is None
    assert split_address("file:///x") is None
    assert split_address("http://") is None


def test_a_client_does_not_show_its_token():
    assert "secret" not in repr(Client(address="http://x", token="secret"))
