"""Decides from the head of a request whether it is allowed. Pure; the middleware acts on the decision.

Listening on loopback alone does not protect it: any page in a browser can send requests to it, and an attacker's domain
name can resolve to it. So the `Host` header must be one of our names, the origin must not be another site, and every
request needs a token.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from milepost.rest.server.refusal import Refusal

MAX_BODY = 64 * 1024
SAFE = ("GET", "HEAD")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_NO_TOKEN = "A valid token is required: Authorization: Bearer <token>."
_NO_TOKEN_IN_A_BROWSER = (
    "The dashboard needs a valid token. "
    "Open the address that milepost run printed and append /?token=<token>. "
    "On a terminal, run prints the token; otherwise it prints the file that contains it."
)


class Role(Enum):
    """The permissions of a token."""

    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a server requires of every request."""

    token: str = field(repr=False)
    """Permits everything."""
    read_token: str | None = field(default=None, repr=False)
    """Permits reading only."""
    hosts: frozenset[str]
    """The accepted host names, without ports: a tunnel changes the port."""
    cookie: str
    """The name of the cookie that a browser receives on its first visit."""
    is_encrypted: bool = False
    """Whether the server uses TLS; a browser then never sends the cookie without it."""
    is_local: bool = True
    """Whether the server listens on loopback."""
    read_only: str | None = None
    """Why the server is read-only for every token; None if it is not."""

    def role_of(self, given: str) -> Role | None:
        """Return the role of a token; tokens are compared in full and in constant time."""
        is_admin, may_read = _equal(given, self.token), _equal(given, self.read_token or "")
        if is_admin:
            return Role.ADMIN
        return Role.READ if may_read and self.read_token else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """The request line and the headers of a request."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By name, in lower case."""


def find_refusal(head: RequestHead, rules: Rules) -> Refusal | None:
    """Return why a request is refused, or None if it is allowed."""
    if _host(head.headers.get("host", "")) not in rules.hosts:
        return Refusal(403, "The Host header names another server.")
    if not _is_own_origin(head.headers, rules):
        return Refusal(403, "The request comes from another site.")
    role = role_of(head, rules)
    if role is None:
        return Refusal(401, _NO_TOKEN_IN_A_BROWSER if head.path == "/" else _NO_TOKEN)
    return _refuse_change(head, role, rules) or _refuse_body(head)


def role_of(head: RequestHead, rules: Rules) -> Role | None:
    """Return the most privileged role of the tokens in a request, or None if no token is valid."""
    roles = {rules.role_of(given) for given in _tokens(head, rules)}
    return next((role for role in (Role.ADMIN, Role.READ) if role in roles), None)


def token_in_address(head: RequestHead, rules: Rules) -> str | None:
    """Return the valid token in the address of a browser's first visit; it becomes a cookie."""
    given = _query_token(head) if is_first_visit(head) else []
    return next((token for token in given if rules.role_of(token)), None)


def is_first_visit(head: RequestHead) -> bool:
    """Return whether a browser passes a token in the address of the first page."""
    return head.method == "GET" and head.path == "/" and bool(_query_token(head))


def hosts_of(host: str, further: tuple[str, ...], *, is_local: bool) -> frozenset[str]:
    """Return the host names under which a server at that address may be reached."""
    return frozenset({host.lower(), *(name.lower() for name in further), *(_LOCAL if is_local else ())})


def _refuse_change(head: RequestHead, role: Role, rules: Rules) -> Refusal | None:
    if head.method in SAFE:
        return None
    if rules.read_only is not None:
        return Refusal(403, rules.read_only)
    if role is Role.READ:
        return Refusal(403, "This token is read-only; changes require the admin token.")
    return None


def _refuse_body(head: RequestHead) -> Refusal | None:
    length = head.headers.get("content-length", "")
    if length.isdigit() and int(length) > MAX_BODY:
        return body_too_large()
    has_body = length not in ("", "0") or "transfer-encoding" in head.headers
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page of another site can send a form or plain text without a preflight request, but not JSON.
    if has_body and kind != "application/json":
        return Refusal(415, "The content type must be application/json.")
    return None


def body_too_large() -> Refusal:
    """Return the refusal of a body above the size limit."""
    return Refusal(413, f"The body is larger than {MAX_BODY} bytes.")


def _host(header: str) -> str:
    """Return the name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_own_origin(headers: Mapping[str, str], rules: Rules) -> bool:
    """Return whether a request comes from our own page, or not from a browser."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _tokens(head: RequestHead, rules: Rules) -> list[str]:
    """Return the tokens of a request: from its header, its cookie and the address of the first page."""
    scheme, _, given = head.headers.get("authorization", "").partition(" ")
    tokens = [given.strip()] if scheme.lower() == "bearer" else []
    tokens += [cookie] if (cookie := _cookie(head.headers.get("cookie", ""), rules.cookie)) else []
    return tokens + (_query_token(head) if is_first_visit(head) else [])


def _query_token(head: RequestHead) -> list[str]:
    try:
        return parse_qs(head.query, max_num_fields=10).get("token", [])[:1]
    except ValueError:
        return []


def _cookie(header: str, name: str) -> str:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())
