"""Java's client properties in librdkafka's words."""

from __future__ import annotations

import pytest

from milepost.errors import PreflightError
from milepost.source.librdkafka import client_properties


def test_what_both_know_is_kept_and_tuning_is_left_out() -> None:
    properties = {"bootstrap.servers": "h:1", "isolation.level": "read_committed", "max.poll.records": "5"}
    assert client_properties(properties) == {"bootstrap.servers": "h:1", "isolation.level": "read_committed"}


def test_a_password_login_is_taken_out_of_jaas() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p=w";'
    translated = client_properties({"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": jaas})
    assert translated == {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": "p=w"}


def test_pem_certificates_are_translated() -> None:
    properties = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}
    assert client_properties(properties) == {"ssl.ca.location": "/ca.pem"}


def test_a_pem_keystore_holds_key_and_certificate() -> None:
    properties = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me.pem"}
    assert client_properties(properties) == {
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "/me.pem",
    }


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ('"two words; and = more"', "two words; and = more"),
        (r'"a \"quoted\" one with \\"', 'a "quoted" one with \\'),
        ("'single'", "single"),
        ("plain", "plain"),
        ('""', ""),
    ],
)
def test_a_password_is_what_java_reads(written: str, password: str) -> None:
    jaas = f"org.apache.kafka.common.security.plain.PlainLoginModule required username=u password={written};"
    assert client_properties({"sasl.jaas.config": jaas})["sasl.password"] == password


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ssl.truststore.location", "/store.jks"),
        ("ssl.keystore.type", "JKS"),
        ("sasl.login.callback.handler.class", "x.Y"),
        ("sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required;"),
    ],
)
def test_security_without_a_translation_is_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(PreflightError, match=key.replace(".", r"\.")):
        client_properties({key: value})
