"""`rest`: where the running job answers, and who may ask."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    Shown,
    Text,
    listed,
    matching,
    path_beside,
)

DEFAULT_BIND = "127.0.0.1:8081"
ANYWHERE = ("0.0.0.0", "::")

_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")


def address_of(bind: str) -> tuple[str, int]:
    """Return host and port of a text that `rest.bind` accepts."""
    match = _ADDRESS.fullmatch(bind)
    if match is None or int(match[3]) > 65535:
        raise ValueError(f"{bind!r} is not host:port; write for example {DEFAULT_BIND}")
    return match[1] or match[2], int(match[3])


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(text: str) -> str:
    address_of(text)
    return text


def _token(text: str) -> Secret:
    if not re.fullmatch(r"[\x21-\x7e]{16,512}", text):
        raise ValueError("must be 16 to 512 letters, digits or signs, without spaces")
    return text if isinstance(text, Secret) else Secret(text)


FilePath = Annotated[Text, AfterValidator(path_beside), Shown("path")]
HostName = Annotated[Text, AfterValidator(matching(r"[A-Za-z0-9_.:-]{1,253}", "is not a host name"))]


class Tls(Section):
    """What the server proves itself with."""

    certificate: FilePath = Field(description="PEM file of the certificate and what signed it.")
    key: FilePath = Field(description="PEM file of its key.")


class Rest(Section):
    """Where the running job answers, and who may ask."""

    bind: Annotated[Text, AfterValidator(_bind), Shown("host:port")] = Field(
        default=DEFAULT_BIND,
        description="Address of the REST interface; port 0 is any free one. Without this section `run` takes the "
        "first free port from 8081 on.",
    )
    token: Annotated[Text, AfterValidator(_token), Shown("secret text")] | None = Field(
        default=None,
        description="What a client must know; absent: made anew at each start, in a file that only you can read.",
    )
    read_token: Annotated[Text, AfterValidator(_token), Shown("secret text")] | None = Field(
        default=None,
        description="What a client must know that may only look; absent: made anew at each start, in its own file.",
    )
    tls: Tls | None = Field(
        default=None, description="Encrypts it; required for an address that is not loopback."
    )
    hosts: Annotated[tuple[HostName, ...], BeforeValidator(listed), Shown("list of names")] = Field(
        default=(),
        description="Further names by which clients call this server.",
        json_schema_extra={"default": "—"},
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def host(self) -> str:
        """The address that is listened at."""
        return address_of(self.bind)[0]

    @property
    def port(self) -> int:
        """The port that is listened at; 0 for any that is free."""
        return address_of(self.bind)[1]

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of rest."""
        if self.token is not None and self.token == self.read_token:
            yield ("read-token", "token"), "is the admin token; who may only look needs another"
        if is_loopback(self.host):
            return
        if self.tls is None:
            yield ("tls", "bind"), f"is required because {self.host} can be reached from other machines"
        if self.token is None:
            message = f"is required because {self.host} can be reached from other machines; use ${{file:…}}"
            yield ("token", "bind"), message
        if self.host in ANYWHERE and not self.hosts:
            yield (
                ("hosts", "bind"),
                f"is required beside {self.host}: the names by which clients call the server",
            )
