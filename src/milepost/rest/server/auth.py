"""Stands before every route: refuses who may not ask, reads the body within its limits, writes down every change."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from anyio import to_thread

from milepost.rest.server.access import (
    MAX_BODY,
    SAFE,
    Knock,
    Role,
    Rules,
    is_first_visit,
    refusal_of,
    role_of,
    too_large,
    visiting_token,
)
from milepost.rest.server.audit import Audit, Change
from milepost.rest.server.refusal import Refusal, errors

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_DRAINED = 1024 * 1024
DRAIN_TIMEOUT = 2.0
BODY_TIMEOUT = 10.0
AT_WORK = 16
"""Requests at once. With more of them, those who are kept waiting would have given up when it is their turn."""
ROUNDS_UNTIL_KNOWN = 2
"""Of the loop, until it is known that a client has gone while it waited for its turn: for those nothing is done."""
NOT_KEPT = (b"cache-control", b"no-store")
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        b"connect-src 'self'; manifest-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# A browser keeps this for a name, whatever the port: for loopback it would break every other server there.
STRICT = ((b"strict-transport-security", b"max-age=31536000"),)


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: App, rules: Rules, audit: Audit | None) -> None:
        """Let `app` see only what passes `rules`; without an audit nothing is written down."""
        self._app = app
        self._rules = rules
        self._audit = audit
        self._headers = HEADERS + (STRICT if rules.is_encrypted and not rules.is_local else ())
        self._at_work = 0

    def is_busy(self) -> bool:
        """Return whether nobody else should be let in now; those whose bodies are still awaited do not count."""
        return self._at_work >= AT_WORK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        knock = _knock(scope)
        answer = _Answer(send, self._headers)
        role = role_of(knock, self._rules)
        body = b""
        try:
            if refusal := refusal_of(knock, self._rules):
                await _drain(receive)
                raise refusal
            if is_first_visit(knock):
                await answer.visit(self._rules, visiting_token(knock, self._rules))
                return
            body = await _read(receive)
            scope.setdefault("state", {})["role"] = role
            await self._work(scope, _replay(body), answer.send)
        except Refusal as refusal:
            await answer.json(refusal.status, refusal.body())
        except asyncio.CancelledError:
            # The server ends before the answer is there. Raised further, it would be a stack trace in the log.
            await answer.json(503, errors("The job has ended before the request was answered."))
        except Exception:
            log.exception("A request was not answered")
            await answer.json(500, errors("Internal server error."))
        finally:
            if knock.method not in SAFE:
                await self._write_down(scope, knock, body, role, answer.status)

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._at_work += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._at_work -= 1

    async def _write_down(
        self, scope: Scope, knock: Knock, body: bytes, role: Role | None, status: int
    ) -> None:
        change = Change(
            method=knock.method,
            path=knock.path,
            client=(scope.get("client") or ("",))[0],
            body=body,
            status=status,
            role=role,
        )
        if self._audit is not None and self._audit.is_wanted(change):
            await to_thread.run_sync(self._audit.write, change)


class _Answer:
    """Sends one answer, with the headers that every answer has."""

    def __init__(self, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self._send = send
        self._headers = headers
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = message.get("headers", ())
            # Only the dashboard's own files, which hold nothing of the job, say something else.
            kept = any(name == NOT_KEPT[0] for name, _ in said)
            message["headers"] = [*said, *(() if kept else (NOT_KEPT,)), *self._headers]
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

    async def visit(self, rules: Rules, token: str | None) -> None:
        """Give the token as a cookie, and the same page without it in the address; without one keep the old cookie."""
        headers = [(b"location", b"/")]
        if token is not None:
            secure = "; Secure" if rules.is_encrypted else ""
            cookie = f"{rules.cookie}={token}; HttpOnly; SameSite=Strict; Path=/{secure}"
            headers.append((b"set-cookie", cookie.encode("latin-1")))
        await self._whole(303, headers, b"")

    async def _whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


async def _read(receive: Receive) -> bytes:
    """Return the whole body; one that is too long or too slow is refused, and one whose client has gone."""
    body = bytearray()
    for _ in range(ROUNDS_UNTIL_KNOWN):
        await asyncio.sleep(0)
    # One deadline for the whole: a byte now and then must not hold a connection for ever.
    deadline = time.monotonic() + BODY_TIMEOUT
    try:
        while True:
            message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            if message["type"] != "http.request":
                raise Refusal(400, "The request ended early.")
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                if message.get("more_body"):
                    await _drain(receive)
                raise too_large()
            if not message.get("more_body"):
                return bytes(body)
    except asyncio.TimeoutError:
        raise Refusal(408, "The body did not come in time.") from None


async def _drain(receive: Receive) -> None:
    """Let in what a refused client still sends, within limits: closed before that, it sees a reset and no answer."""
    left, deadline = MAX_DRAINED, time.monotonic() + DRAIN_TIMEOUT
    with suppress(asyncio.TimeoutError):
        while left > 0:
            message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            left -= len(message.get("body", b""))
            if not message.get("more_body"):
                return


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
