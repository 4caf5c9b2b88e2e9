"""Bad requests against the server on its port (B38): short JSON, no stack trace, no file, a line for every change."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from typing import Any

import pytest
from tests.unit.rest.asgi import JOB, Server

from milepost.config import Rest
from milepost.rest.server.server import Address, Listener, serve_job

TRIGGER = f"/jobs/{JOB}/checkpoints"
JSON = {"Content-Type": "application/json"}
HOSTILE = ["'%20OR%201=1--", "%3Cscript%3Ealert(1)%3C/script%3E", "%1b%5b31mred", "a%00b", "%5c..%5c..%5cx"]
UP = [
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%252f%2e%2e%252fetc%252fpasswd",
    "%252e%252e%252fetc%252fpasswd",
]

# name: method, path, body, headers, statuses
Row = tuple[str, str, bytes | None, dict[str, str], tuple[int, ...]]
ROWS: dict[str, Row] = {
    "bad JSON": ("POST", TRIGGER, b"{", JSON, (400,)),
    "JSON of another shape": ("POST", TRIGGER, b"[1]", JSON, (400,)),
    "deep JSON": ("POST", TRIGGER, b"[" * 60_000, JSON, (400,)),
    "wrong method": ("DELETE", "/jobs", None, {}, (405,)),
    "a change by GET": ("GET", f"/jobs/{JOB}/stop", None, {}, (405,)),
    "wrong content type": ("POST", TRIGGER, b"a=1", {"Content-Type": "text/plain"}, (415,)),
    "a form": ("POST", TRIGGER, b"a=1", {"Content-Type": "application/x-www-form-urlencoded"}, (415,)),
    "an upload": ("POST", "/jars/upload", b"--x", {"Content-Type": "multipart/form-data"}, (415,)),
    "missing token": ("POST", TRIGGER, b"{}", {**JSON, "Authorization": ""}, (401,)),
    "another token": ("POST", TRIGGER, b"{}", {**JSON, "Authorization": f"Bearer {'x' * 43}"}, (401,)),
    "unknown job": ("GET", f"/jobs/{'f' * 32}", None, {}, (404,)),
    "unknown operation": ("GET", f"{TRIGGER}/{'f' * 32}", None, {}, (404,)),
    "unknown checkpoint": ("GET", f"{TRIGGER}/details/999", None, {}, (404,)),
    "host of another site": ("POST", TRIGGER, b"{}", {**JSON, "Host": "evil.example"}, (403,)),
    "origin of another site": ("POST", TRIGGER, b"{}", {**JSON, "Origin": "http://evil.example"}, (403,)),
    "a page of another site": ("GET", "/jobs", None, {"Sec-Fetch-Site": "cross-site"}, (403,)),
    **{f"id {text}": ("GET", f"/jobs/{text}", None, {}, (400, 404)) for text in UP + HOSTILE},
    **{f"checkpoint {text}": ("GET", f"{TRIGGER}/details/{text}", None, {}, (400, 404)) for text in UP},
    "savepoint elsewhere": (
        "POST",
        f"/jobs/{JOB}/savepoints",
        b'{"target-directory": "/etc"}',
        JSON,
        (400,),
    ),
    "savepoint by a way up": (
        "POST",
        f"/jobs/{JOB}/savepoints",
        b'{"target-directory": "../../../../etc"}',
        JSON,
        (400,),
    ),
    "disposal elsewhere": ("POST", "/savepoint-disposal", b'{"savepoint-path": "/etc"}', JSON, (400,)),
}

_opened: list[str] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_note)


def ask(address: Address, row: Row) -> tuple[int, str]:
    method, path, body, headers, _ = row
    connection = http.client.HTTPConnection(address.url.removeprefix("http://"), timeout=10)
    sent = {"Authorization": f"Bearer {address.token}"} | headers
    try:
        connection.request(method, path, body, {name: value for name, value in sent.items() if value})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def lines(server: Server, name: str) -> list[dict[str, Any]]:
    path = server.folder / "milepost" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_every_bad_request_is_refused_by_a_short_sentence(address: Address, server: Server):
    _opened.clear()
    wrong = {}
    for name, row in ROWS.items():
        status, text = ask(address, row)
        short = len(text) < 300 and list(json.loads(text)) == ["errors"]
        if status not in row[4] or not short or "Traceback" in text or "\x1b" in text or "<script" in text:
            wrong[name] = (status, text)
    assert wrong == {}
    assert server.job.asked == []
    assert not [path for path in _opened if "passwd" in path or path.startswith("/etc")]


def test_every_change_leaves_a_line(address: Address, server: Server):
    changes = {name: row for name, row in ROWS.items() if row[0] != "GET"}
    for row in changes.values():
        ask(address, row)
    deadline = time.monotonic() + 10
    # A line is written after its answer was sent.
    while time.monotonic() < deadline:
        written = [*lines(server, "audit.jsonl"), *lines(server, "refused.jsonl")]
        if len(written) >= len(changes):
            break
        time.sleep(0.01)
    assert len(written) == len(changes)
    assert sorted(line["status"] for line in written) == sorted(row[4][0] for row in changes.values()), (
        written
    )
    assert {line["principal"] for line in lines(server, "refused.jsonl")} == {None}
    assert address.token not in str(written)


def test_the_token_of_an_earlier_run_has_expired(server: Server):
    tokens = []
    for _ in range(2):
        with (
            Listener.open(Rest(bind="127.0.0.1:0")) as listener,
            serve_job(listener, server.job, server.config) as address,
        ):
            tokens.append(address.token)
            headers = {"Authorization": f"Bearer {tokens[0]}"}
            status, _ = ask(address, ("GET", "/jobs", None, headers, ()))
            assert status == (200 if len(tokens) == 1 else 401)


@pytest.mark.parametrize("how", ["announced", "chunked"])
def test_ten_megabytes_are_not_taken_in(how: str, address: Address):
    port = int(address.url.rpartition(":")[2])
    head = (
        f"POST {TRIGGER} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {address.token}\r\n"
        "Content-Type: application/json\r\n"
    )
    size = 10 * 1024 * 1024
    head += f"Content-Length: {size}\r\n\r\n" if how == "announced" else "Transfer-Encoding: chunked\r\n\r\n"
    piece = b" " * 65536
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(head.encode())
        sent = 0
        try:
            while how != "announced" and sent < size:
                client.sendall(b"10000\r\n" + piece + b"\r\n")
                sent += len(piece)
        except OSError:
            pass  # the server does not take any more
        try:
            answer = client.recv(4096)
        except ConnectionResetError:
            assert how != "announced"
            return
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert sent < size
