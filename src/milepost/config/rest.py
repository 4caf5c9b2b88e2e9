"""`rest`: the address and the access control of the REST interface."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    Text,
    TypeLabel,
    matching,
    path_beside,
    split_commas,
)

DEFAULT_BIND = "127.0.0.1:8081"
ANYWHERE = ("0.0.0.0", "::")

_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")


def address_of(bind: str) -> tuple[str, int]:
    """Return host and port of a value of `rest.bind`."""
    match = _ADDRESS.fullmatch(bind)
    if match is None or int(match[3]) > 65535:
        raise ValueError(f"{bind!r} is not host:port; write for example {DEFAULT_BIND}")
    return match[1] or match[2], int(match[3])


def is_loopback(host: str) -> bool:
    """Return whether the host is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(text: str) -> str:
    address_of(text)
    return text


def _token(text: str) -> Secret:
    if not re.fullmatch(r"[\x21-\x7e]{16,512}", text):
        raise ValueError("must be 16 to 512 letters, digits or punctuation characters, without spaces")
    return text if isinstance(text, Secret) else Secret(text)


FilePath = Annotated[Text, AfterValidator(path_beside), TypeLabel("path")]
HostName = Annotated[Text, AfterValidator(matching(r"[A-Za-z0-9_.:-]{1,253}", "is not a host name"))]


class Tls(Section):
    """The certificate of the server."""

    certificate: FilePath = Field(description="PEM file with the certificate chain.")
    key: FilePath = Field(description="PEM file with the private key.")


class Rest(Section):
    """The REST interface of the running job."""

    bind: Annotated[Text, AfterValidator(_bind), TypeLabel("host:port")] = Field(
        default=DEFAULT_BIND,
        description="Address of the REST interface; port 0 picks any free port. Without this section `run` uses "
        "the first free port from 8081.",
    )
    token: Annotated[Text, AfterValidator(_token), TypeLabel("secret text")] | None = Field(
        default=None,
        description="Token with full access; absent: generated at each start, in a file that only the owner can read.",
    )
    read_token: Annotated[Text, AfterValidator(_token), TypeLabel("secret text")] | None = Field(
        default=None,
        description="Read-only token; absent: generated at each start, in its own file.",
    )
    tls: Tls | None = Field(default=None, description="Serve HTTPS; required unless the address is loopback.")
    hosts: Annotated[tuple[HostName, ...], BeforeValidator(split_commas), TypeLabel("list of names")] = Field(
        default=(),
        description="Additional host names under which clients reach the server.",
        json_schema_extra={"default": "—"},
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def host(self) -> str:
        """The host to listen on."""
        return address_of(self.bind)[0]

    @property
    def port(self) -> int:
        """The port to listen on; 0 for any free port."""
        return address_of(self.bind)[1]

    def find_faults(self) -> Iterator[KeyFault]:
        """Require TLS, a token and host names for addresses that other machines can reach."""
        if self.token is not None and self.token == self.read_token:
            yield KeyFault(
                ("read-token", "token"), "is the same as token; choose a different one for read-only access"
            )
        if is_loopback(self.host):
            return
        if self.tls is None:
            yield KeyFault(
                ("tls", "bind"), f"is required because {self.host} is reachable from other machines"
            )
        if self.token is None:
            message = f"is required because {self.host} is reachable from other machines; use ${{file:…}}"
            yield KeyFault(("token", "bind"), message)
        if self.host in ANYWHERE and not self.hosts:
            yield KeyFault(
                ("hosts", "bind"),
                f"is required with {self.host}: the host names under which clients reach the server",
            )
