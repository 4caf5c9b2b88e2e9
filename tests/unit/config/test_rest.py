"""The REST interface's settings: loopback by default, and nothing else without TLS and a token."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.config import Rest, parse_config
from milepost.config.rest import is_loopback
from milepost.errors import ConfigError

TOKEN = "0123456789abcdef"
TLS = {"certificate": "/etc/milepost/tls.crt", "key": "/etc/milepost/tls.key"}
OPEN = {"rest/bind": "10.0.0.5:8081", "rest/tls": TLS, "rest/token": TOKEN}

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"rest/bind": "8081"}, "rest.bind", "is not host:port"),
    ({"rest/bind": "127.0.0.1:99999"}, "rest.bind", "is not host:port"),
    ({"rest/bind": "http://127.0.0.1:8081"}, "rest.bind", "is not host:port"),
    ({"rest/token": "short"}, "rest.token", "16 to 512"),
    ({"rest/token": "with a space in the middle"}, "rest.token", "without spaces"),
    ({"rest/read-token": "short"}, "rest.read-token", "16 to 512"),
    ({"rest/read-token": TOKEN, "rest/token": TOKEN}, "rest.read-token", "is the same as token"),
    ({"rest/hosts": ["two words"]}, "rest.hosts[0]", "is not a host name"),
    ({**OPEN, "rest/tls": None}, "rest.tls", "10.0.0.5 is reachable from other machines"),
    ({**OPEN, "rest/token": None}, "rest.token", "10.0.0.5 is reachable from other machines"),
    ({**OPEN, "rest/bind": "0.0.0.0:8081"}, "rest.hosts", "the host names under which clients reach"),
]


@pytest.mark.parametrize(("changes", "key", "sentence"), REFUSED)
def test_what_would_open_a_door_is_refused(changes, key, sentence, faults):
    found = faults(changes)
    assert sentence in found[key], found


def test_an_address_for_others_has_tls_and_a_token(job):
    rest = parse_config(job(OPEN)).rest
    assert rest is not None
    assert (rest.host, rest.port) == ("10.0.0.5", 8081)


def test_without_the_section_there_is_none(job):
    assert parse_config(job({})).rest is None


def test_the_default_is_loopback_with_a_token_of_its_own():
    rest = Rest()
    assert (rest.host, rest.port, rest.token) == ("127.0.0.1", 8081, None)


def test_an_ipv6_address_stands_in_brackets():
    assert (Rest(bind="[::1]:0").host, Rest(bind="[::1]:0").port) == ("::1", 0)


def test_a_token_is_never_shown(job):
    other = "fedcba9876543210"
    config = parse_config(job({"rest/token": TOKEN, "rest/read-token": other}))
    assert TOKEN not in repr(config)
    assert other not in repr(config) + str(config.redacted()) + config.redact(other)
    assert TOKEN not in str(config.redacted())
    assert config.redact(f"Bearer {TOKEN}") == "Bearer ******"


def test_in_python_the_same_rules_hold():
    with pytest.raises(ConfigError, match="tls: is required"):
        Rest(bind="192.168.1.1:80")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org"])
def test_not_loopback(host):
    assert not is_loopback(host)
