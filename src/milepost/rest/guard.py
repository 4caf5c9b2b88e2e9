"""Stands before every route: refuses who may not ask, reads the body within its limits, writes down every change."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from anyio import to_thread

from milepost.rest.access import MAX_BODY, SAFE, Knock, Rules, is_first_visit, refusal_of, too_large
from milepost.rest.audit import Audit, Change
from milepost.rest.refusal import Refusal, errors

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_TIMEOUT = 10.0
HEADERS = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: App, rules: Rules, audit: Audit) -> None:
        """Let `app` see only what passes `rules`."""
        self._app = app
        self._rules = rules
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        knock = _knock(scope)
        answer = _Answer(send)
        try:
            if refusal := refusal_of(knock, self._rules):
                raise refusal
            if is_first_visit(knock):
                await answer.visit(self._rules)
                return
            body = await _read(receive)
            await self._pass(scope, knock, body, answer)
        except Refusal as refusal:
            await answer.json(refusal.status, refusal.body())
        except Exception:
            log.exception("A request was not answered")
            await answer.json(500, errors("Internal server error."))

    async def _pass(self, scope: Scope, knock: Knock, body: bytes, answer: _Answer) -> None:
        try:
            await self._app(scope, _replay(body), answer.send)
        finally:
            if knock.method not in SAFE:
                client = (scope.get("client") or ("",))[0]
                change = Change(
                    method=knock.method, path=knock.path, client=client, body=body, status=answer.status
                )
                await to_thread.run_sync(self._audit.write, change)


class _Answer:
    """Sends one answer, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await self._send(message)

    async def json(self, status: int, document: dict[str, Any]) -> None:
        if self.status:
            return  # it had begun; there is no second one
        headers = [(b"content-type", b"application/json; charset=UTF-8")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        # What a refused request still wants to send is not read.
        headers.append((b"connection", b"close"))
        await self._whole(status, headers, json.dumps(document).encode())

    async def visit(self, rules: Rules) -> None:
        """Give the token as a cookie, and the same page without it in the address."""
        cookie = f"{rules.cookie}={rules.token}; HttpOnly; SameSite=Strict; Path=/"
        await self._whole(303, [(b"location", b"/"), (b"set-cookie", cookie.encode("latin-1"))], b"")

    async def _whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


async def _read(receive: Receive) -> bytes:
    """Return the whole body; one that is too long or too slow is refused."""
    body = bytearray()
    try:
        while True:
            message = await asyncio.wait_for(receive(), BODY_TIMEOUT)
            if message["type"] != "http.request":
                raise Refusal(400, "The request ended early.")
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                raise too_large()
            if not message.get("more_body"):
                return bytes(body)
    except asyncio.TimeoutError:
        raise Refusal(408, "The body did not come in time.") from None


def _replay(body: bytes) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _knock(scope: Scope) -> Knock:
    return Knock(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
    )
