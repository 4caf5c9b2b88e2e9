"""The middleware in front of every route: authorizes requests, reads bodies within limits, audits changes."""

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
    RequestHead,
    Role,
    Rules,
    body_too_large,
    find_refusal,
    is_first_visit,
    role_of,
    token_in_address,
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
MAX_ACTIVE = 16
"""Concurrent requests. With a higher limit, clients would give up before their requests are processed."""
ROUNDS_UNTIL_DISCONNECT_SEEN = 2
"""Rounds of the event loop until a disconnect is visible. Work for disconnected clients is dropped."""
NO_STORE = (b"cache-control", b"no-store")
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
# A browser stores this per host name, for all ports: on loopback it would break every other server.
STRICT = ((b"strict-transport-security", b"max-age=31536000"),)


class AuthMiddleware:
    """An ASGI application that wraps another one."""

    def __init__(self, app: App, rules: Rules, audit: Audit | None) -> None:
        """Pass on only requests that satisfy `rules`; without an audit log, changes are not recorded."""
        self._app = app
        self._rules = rules
        self._audit = audit
        self._headers = HEADERS + (STRICT if rules.is_encrypted and not rules.is_local else ())
        self._active = 0

    def is_busy(self) -> bool:
        """Return whether no further requests should be accepted; those still sending their body do not count."""
        return self._active >= MAX_ACTIVE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one request."""
        if scope["type"] != "http":
            return
        head = _request_head(scope)
        response = _Response(send, self._headers)
        role = role_of(head, self._rules)
        body = b""
        try:
            if refusal := find_refusal(head, self._rules):
                await _drain(receive)
                raise refusal
            if is_first_visit(head):
                await response.visit(self._rules, token_in_address(head, self._rules))
                return
            body = await _read(receive)
            scope.setdefault("state", {})["role"] = role
            await self._call_app(scope, _replay(body), response.send)
        except Refusal as refusal:
            await response.json(refusal.status, refusal.body())
        except asyncio.CancelledError:
            # The server stops before the response is complete. Re-raising would log a stack trace.
            await response.json(503, errors("The job ended before the request was answered."))
        except Exception:
            log.exception("A request failed")
            await response.json(500, errors("Internal server error."))
        finally:
            if head.method not in SAFE:
                await self._audit_change(scope, head, body, role, response.status)

    async def _call_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._active += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._active -= 1

    async def _audit_change(
        self, scope: Scope, head: RequestHead, body: bytes, role: Role | None, status: int
    ) -> None:
        change = Change(
            method=head.method,
            path=head.path,
            client=(scope.get("client") or ("",))[0],
            body=body,
            status=status,
            role=role,
        )
        if self._audit is not None and self._audit.should_write(change):
            await to_thread.run_sync(self._audit.write, change)


class _Response:
    """Sends one response with the headers that every response has."""

    def __init__(self, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self._send = send
        self._headers = headers
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = message.get("headers", ())
            # Only the dashboard's static files, which contain no job data, set their own.
            kept = any(name == NO_STORE[0] for name, _ in given)
            message["headers"] = [*given, *(() if kept else (NO_STORE,)), *self._headers]
        await self._send(message)

    async def json(self, status: int, document: dict[str, Any]) -> None:
        if self.status:
            return  # a response has already started
        headers = [(b"content-type", b"application/json; charset=UTF-8")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        # The remaining input of a refused request is not read.
        headers.append((b"connection", b"close"))
        await self._send_all(status, headers, json.dumps(document).encode())

    async def visit(self, rules: Rules, token: str | None) -> None:
        """Set the token as a cookie and redirect to the page without it; without a valid token keep the old cookie."""
        headers = [(b"location", b"/")]
        if token is not None:
            secure = "; Secure" if rules.is_encrypted else ""
            cookie = f"{rules.cookie}={token}; HttpOnly; SameSite=Strict; Path=/{secure}"
            headers.append((b"set-cookie", cookie.encode("latin-1")))
        await self._send_all(303, headers, b"")

    async def _send_all(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


async def _read(receive: Receive) -> bytes:
    """Return the complete body; refuse one that is too large or too slow, or whose client has disconnected."""
    body = bytearray()
    for _ in range(ROUNDS_UNTIL_DISCONNECT_SEEN):
        await asyncio.sleep(0)
    # One deadline for the whole body: a byte now and then must not hold a connection forever.
    deadline = time.monotonic() + BODY_TIMEOUT
    try:
        while True:
            message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            if message["type"] != "http.request":
                raise Refusal(400, "The request ended prematurely.")
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                if message.get("more_body"):
                    await _drain(receive)
                raise body_too_large()
            if not message.get("more_body"):
                return bytes(body)
    except asyncio.TimeoutError:
        raise Refusal(408, "The body was not received in time.") from None


async def _drain(receive: Receive) -> None:
    """Read the rest of a refused request, within limits: a client that is cut off sees a reset, not the response."""
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


def _request_head(scope: Scope) -> RequestHead:
    return RequestHead(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
    )
