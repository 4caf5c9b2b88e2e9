"""The server behind TLS: who trusts it, which versions it speaks, what a browser is told."""

from __future__ import annotations

import http.client
import socket
import ssl
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from tests.unit.rest.asgi import JOB, Server
from typer.testing import CliRunner

from milepost.cli import app
from milepost.config import Rest
from milepost.errors import ConfigError, NotReachableError, PreflightError
from milepost.rest.client import Client
from milepost.rest.server import cpu_budget
from milepost.rest.server.server import Address, Listener, serve_job


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> dict[str, Path]:
    issued = authority.issue_cert("127.0.0.1", "localhost")
    named = {name: tmp_path / f"{name}.pem" for name in ("ca", "certificate", "key")}
    authority.cert_pem.write_to_path(named["ca"])
    issued.private_key_pem.write_to_path(named["key"])
    for pem in issued.cert_chain_pems:
        pem.write_to_path(named["certificate"], append=True)
    return named


@pytest.fixture
def address(server: Server, files: dict[str, Path]) -> Iterator[Address]:
    tls = {"certificate": str(files["certificate"]), "key": str(files["key"])}
    with (
        Listener.open(Rest(bind="127.0.0.1:0", tls=tls)) as listener,
        serve_job(listener, server.job, server.config) as address,
    ):
        yield address


def port_of(address: Address) -> int:
    return int(address.url.rpartition(":")[2])


def get(address: Address, files: dict[str, Path], path: str) -> tuple[int, dict[str, str]]:
    trusted = ssl.create_default_context(cafile=str(files["ca"]))
    connection = http.client.HTTPSConnection("127.0.0.1", port_of(address), context=trusted, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status, {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()


@pytest.mark.parametrize("trusted", ["ca", "certificate"])
def test_a_client_trusts_who_signed_it_or_the_certificate_itself(
    trusted: str, address: Address, files: dict[str, Path]
):
    client = Client(address=address.url, token=address.token, certificate=str(files[trusted]))
    assert client.job_id() == JOB


def test_who_is_not_known_is_not_trusted(address: Address, tmp_path: Path):
    with pytest.raises(NotReachableError, match="cannot be verified") as refused:
        Client(address=address.url, token=address.token).job_id()
    assert "MILEPOST_CA_FILE" in refused.value.fix
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    with pytest.raises(NotReachableError, match="cannot be verified"):
        Client(address=address.url, token=address.token, certificate=str(other)).job_id()


def test_a_certificate_that_is_not_there_is_named(address: Address, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"nowhere\.pem cannot be used"):
        Client(address=address.url, token="x", certificate=str(tmp_path / "nowhere.pem")).job_id()


def test_a_command_finds_its_job_by_name_and_by_address(
    address: Address, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    run = CliRunner().invoke
    assert address.url.startswith("https://")
    assert JOB in run(app, ["status", "orders"]).output
    assert JOB in run(app, ["status", address.link]).output
    monkeypatch.setenv("MILEPOST_CA_FILE", str(files["ca"]))
    assert JOB in run(app, ["status", "orders"]).output


def test_the_cookie_never_goes_without_encryption(address: Address, files: dict[str, Path]):
    status, headers = get(address, files, f"/?token={address.token}")
    assert status == 303
    assert headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/; Secure")
    # A browser would keep it for every port of loopback.
    assert "strict-transport-security" not in headers


def test_old_versions_are_not_spoken(address: Address):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname = False
        old.verify_mode = ssl.CERT_NONE
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection(("127.0.0.1", port_of(address)), timeout=10) as plain:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(plain)


def test_plain_http_gets_no_answer(address: Address):
    with pytest.raises(NotReachableError):
        Client(address=address.url.replace("https", "http"), token=address.token).job_id()


def test_a_handshake_that_never_comes_is_not_waited_for(server: Server, files: dict[str, Path]):
    tls = {"certificate": str(files["certificate"]), "key": str(files["key"])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_budget, "HANDSHAKE_TIMEOUT", 0.2)
        with (
            Listener.open(Rest(bind="127.0.0.1:0", tls=tls)) as listener,
            serve_job(listener, server.job, server.config) as address,
            socket.create_connection(("127.0.0.1", port_of(address)), timeout=10) as silent,
        ):
            assert silent.recv(1) == b""


def test_a_key_of_another_certificate_is_refused(files: dict[str, Path], tmp_path: Path):
    other = tmp_path / "other.key"
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(other)
    rest = Rest(tls={"certificate": str(files["certificate"]), "key": str(other)})
    with pytest.raises(PreflightError, match=r"rest\.tls cannot be used"), Listener.open(rest):
        pass
