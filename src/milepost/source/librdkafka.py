"""Translates the Kafka client properties of Java's clients for librdkafka, with which commands read without a JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping

from milepost.errors import PreflightError

_SAME = ("bootstrap.servers", "client.id", "isolation.level", "security.protocol")
_RENAMED = {
    "sasl.mechanism": "sasl.mechanism",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.key.password": "ssl.key.password",
}
_JAAS = "sasl.jaas.config"
_PASSWORD_LOGIN = re.compile(r"(?:Plain|Scram)LoginModule")
_TYPES = ("ssl.truststore.type", "ssl.keystore.type")


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what a reader needs; tuning is left out, a security setting without a translation is refused."""
    translated: dict[str, str] = {}
    for key, value in properties.items():
        if key in _SAME or key in _RENAMED:
            translated[_RENAMED.get(key, key)] = value
        elif key == _JAAS:
            translated.update(_login(value))
        elif key == "ssl.truststore.location" and _is_pem(properties, "ssl.truststore.type"):
            translated["ssl.ca.location"] = value
        elif key.startswith(("ssl.", "sasl.")) and not (key in _TYPES and value == "PEM"):
            raise PreflightError(
                f"The Kafka property {key} cannot be used here",
                why="this command reads Kafka with librdkafka, which has no such property",
                fix="Use PEM certificates and a PLAIN or SCRAM login for this command",
            )
    return translated


def _is_pem(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key) == "PEM"


def _login(jaas: str) -> dict[str, str]:
    values = dict(re.findall(r"""(\w+)\s*=\s*["']?([^"';\s]*)["']?""", jaas))
    if not _PASSWORD_LOGIN.search(jaas) or not {"username", "password"} <= values.keys():
        raise PreflightError(
            f"The login in {_JAAS} cannot be used here",
            why="only a PLAIN or SCRAM login with username and password can be handed to librdkafka",
            fix="Use such a login for this command",
        )
    return {"sasl.username": values["username"], "sasl.password": values["password"]}
