"""The guard reads a body within its limits; what it refuses is in test_app.py."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.rest.asgi import TOKEN, Server

from milepost.rest.server import auth
from milepost.rest.server.access import Rules


def scope(kind: str = "http") -> dict[str, Any]:
    headers = {"host": "localhost", "authorization": f"Bearer {TOKEN}"}
    return {
        "type": kind,
        "method": "GET",
        "path": "/jobs",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": None,
    }


class Got(list[Any]):
    """What was sent to the client."""

    async def send(self, message: Any) -> None:
        self.append(message)


def answer(server: Server, receive: Any, kind: str = "http") -> Got:
    got = Got()
    asyncio.run(server.app(scope(kind), receive, got.send))
    return got


def test_a_body_that_does_not_come_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(auth, "BODY_TIMEOUT", 0.05)

    async def receive() -> Any:
        await asyncio.sleep(60)

    start, body = answer(server, receive)
    assert start["status"] == 408
    assert json.loads(body["body"]) == {"errors": ["The body was not received in time."]}


def test_a_client_that_goes_away_is_let_go(server: Server):
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    assert answer(server, receive)[0]["status"] == 400


def test_nothing_is_done_for_a_client_that_went_while_it_waited(server: Server):
    """The loop learns of it in the rounds after the one in which it read the request."""
    gone: list[bool] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"} if gone else {"type": "http.request", "body": b""}

    async def ask() -> Got:
        got = Got()
        task = asyncio.create_task(server.app(scope(), receive, got.send))
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, gone.append, True)
        await task
        return got

    assert asyncio.run(ask())[0]["status"] == 400


def test_only_http_is_spoken(server: Server):
    async def receive() -> Any:
        raise AssertionError("nothing is read")

    assert answer(server, receive, "websocket") == []


def test_the_end_of_the_server_is_an_answer_and_no_stack_trace(server: Server):
    async def end_meanwhile() -> Got:
        got = Got()
        asked = asyncio.Event()

        async def receive() -> Any:
            asked.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(server.app(scope(), receive, got.send))
        await asked.wait()
        task.cancel()
        await task  # what it raised, uvicorn would write into the log with its trace
        return got

    start, body = asyncio.run(end_meanwhile())
    assert start["status"] == 503
    assert json.loads(body["body"]) == {"errors": ["The job ended before the request was answered."]}


def test_what_is_worked_on_counts_and_what_is_awaited_does_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(auth, "MAX_ACTIVE", 1)
    seen: dict[str, bool] = {}

    async def app(*_: Any) -> None:
        seen["at work"] = guarded.is_busy()

    async def receive() -> Any:
        seen["body awaited"] = guarded.is_busy()
        return {"type": "http.request", "body": b""}

    rules = Rules(token=TOKEN, read_token=None, hosts=frozenset({"localhost"}), cookie="c")
    guarded = auth.AuthMiddleware(app, rules, None)
    asyncio.run(guarded(scope(), receive, Got().send))
    assert seen == {"body awaited": False, "at work": True}
    assert not guarded.is_busy()
