"""Translates Kafka properties from the Java client to librdkafka, which commands use to read without a JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping

from milepost.errors import PreflightError

_SAME = ("bootstrap.servers", "client.id", "isolation.level", "security.protocol", "sasl.mechanism")
_RENAMED = {
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.key.password": "ssl.key.password",
}
_JAAS = "sasl.jaas.config"
_PASSWORD_LOGIN = re.compile(r"(?:Plain|Scram)LoginModule")
# A quoted value may contain any character; a backslash escapes the next one.
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^"';\s]+))""")
# With the key of the file type: a PEM keystore contains both the key and the certificates.
_PEM_FILES = {
    "ssl.truststore.location": ("ssl.truststore.type", ("ssl.ca.location",)),
    "ssl.keystore.location": ("ssl.keystore.type", ("ssl.certificate.location", "ssl.key.location")),
}
_TYPES = ("ssl.truststore.type", "ssl.keystore.type")


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a reader; tuning is dropped, a security property without a translation is refused."""
    translated: dict[str, str] = {}
    for key, value in properties.items():
        if key in _SAME or key in _RENAMED:
            translated[_RENAMED.get(key, key)] = value
        elif key == _JAAS:
            translated.update(_login(value))
        elif key in _PEM_FILES and properties.get(_PEM_FILES[key][0]) == "PEM":
            translated.update(dict.fromkeys(_PEM_FILES[key][1], value))
        elif key.startswith(("ssl.", "sasl.")) and not (key in _TYPES and value == "PEM"):
            raise PreflightError(
                f"The Kafka property {key} cannot be used here",
                why="this command reads Kafka with librdkafka, which has no such property",
                fix="Use PEM certificates and a PLAIN or SCRAM login for this command",
            )
    return translated


def _login(jaas: str) -> dict[str, str]:
    values = {
        match[1]: re.sub(r"\\(.)", r"\1", match[2] or match[3] or match[4] or "")
        for match in _OPTION.finditer(jaas)
    }
    if not _PASSWORD_LOGIN.search(jaas) or not {"username", "password"} <= values.keys():
        raise PreflightError(
            f"The login in {_JAAS} cannot be used here",
            why="librdkafka supports only a PLAIN or SCRAM login with username and password",
            fix="Use a PLAIN or SCRAM login with username and password for this command",
        )
    return {"sasl.username": values["username"], "sasl.password": values["password"]}
