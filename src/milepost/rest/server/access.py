"""Who may ask: the decision about one request from its first lines. Pure; the guard acts on it.

Loopback alone protects from nobody: any page in a browser can send requests to it, and a name that an attacker owns
can point to it. So the name in `Host` must be one of ours, no other site may be the origin, and there must be a token.
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
    "Open the address that milepost run printed, with /?token=<token> at its end: "
    "run prints the token on a terminal, elsewhere the file that holds it."
)


class Role(Enum):
    """What a token opens."""

    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a server expects of every request."""

    token: str = field(repr=False)
    """Opens everything."""
    read_token: str | None = field(default=None, repr=False)
    """Opens what only looks."""
    hosts: frozenset[str]
    """The names by which it may be called, without ports: a tunnel changes the port."""
    cookie: str
    """The name of the cookie that a browser has after its first visit."""
    is_encrypted: bool = False
    """Whether it speaks TLS, so that a browser never sends the cookie without it."""
    is_local: bool = True
    """Whether it listens on loopback."""
    read_only: str | None = None
    """Why nothing can be changed here, whatever the token; None where it can."""

    def role_of(self, given: str) -> Role | None:
        """Return what a token opens; every token is compared whole, and in the same time whatever was given."""
        is_admin, may_read = _equal(given, self.token), _equal(given, self.read_token or "")
        if is_admin:
            return Role.ADMIN
        return Role.READ if may_read and self.read_token else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """The first lines of a request."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""


def refusal_of(knock: Knock, rules: Rules) -> Refusal | None:
    """Return why a request is refused, or None where it may go on."""
    if _host(knock.headers.get("host", "")) not in rules.hosts:
        return Refusal(403, "The Host header names another server.")
    if not _is_own_origin(knock.headers, rules):
        return Refusal(403, "The request comes from another site.")
    role = role_of(knock, rules)
    if role is None:
        return Refusal(401, _NO_TOKEN_IN_A_BROWSER if knock.path == "/" else _NO_TOKEN)
    return _refused_change(knock, role, rules) or _refused_body(knock)


def role_of(knock: Knock, rules: Rules) -> Role | None:
    """Return the most that the tokens of a request open, or None where it has no valid one."""
    roles = {rules.role_of(given) for given in _tokens(knock, rules)}
    return next((role for role in (Role.ADMIN, Role.READ) if role in roles), None)


def visiting_token(knock: Knock, rules: Rules) -> str | None:
    """Return the valid token that a browser brings in its address, to have it as a cookie from then on."""
    given = _query_token(knock) if is_first_visit(knock) else []
    return next((token for token in given if rules.role_of(token)), None)


def is_first_visit(knock: Knock) -> bool:
    """Return whether a browser brings the token in its address, to have it as a cookie from then on."""
    return knock.method == "GET" and knock.path == "/" and bool(_query_token(knock))


def hosts_of(host: str, further: tuple[str, ...], *, is_local: bool) -> frozenset[str]:
    """Return the names by which a server at that address may be called."""
    return frozenset({host.lower(), *(name.lower() for name in further), *(_LOCAL if is_local else ())})


def _refused_change(knock: Knock, role: Role, rules: Rules) -> Refusal | None:
    if knock.method in SAFE:
        return None
    if rules.read_only is not None:
        return Refusal(403, rules.read_only)
    if role is Role.READ:
        return Refusal(403, "This token may only look; changes need the admin token.")
    return None


def _refused_body(knock: Knock) -> Refusal | None:
    length = knock.headers.get("content-length", "")
    if length.isdigit() and int(length) > MAX_BODY:
        return too_large()
    has_body = length not in ("", "0") or "transfer-encoding" in knock.headers
    kind = knock.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page of another site can send a form or plain text without asking, but not JSON.
    if has_body and kind != "application/json":
        return Refusal(415, "The content type must be application/json.")
    return None


def too_large() -> Refusal:
    """Return the refusal of a body that nobody needs."""
    return Refusal(413, f"The body is larger than {MAX_BODY} bytes.")


def _host(header: str) -> str:
    """Return the name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_own_origin(headers: Mapping[str, str], rules: Rules) -> bool:
    """Return whether a browser, if it is one, asks on behalf of our own page."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _tokens(knock: Knock, rules: Rules) -> list[str]:
    """Return the tokens that the request brings: in its header, in its cookie, in the address of the first page."""
    scheme, _, given = knock.headers.get("authorization", "").partition(" ")
    tokens = [given.strip()] if scheme.lower() == "bearer" else []
    tokens += [cookie] if (cookie := _cookie(knock.headers.get("cookie", ""), rules.cookie)) else []
    return tokens + (_query_token(knock) if is_first_visit(knock) else [])


def _query_token(knock: Knock) -> list[str]:
    try:
        return parse_qs(knock.query, max_num_fields=10).get("token", [])[:1]
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
