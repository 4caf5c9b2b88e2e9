"""Which doors of Spark and of Kafka's client stay closed, and what is refused that would open one."""

from __future__ import annotations

import re

import pytest

from milepost.config.values.secret import Secret
from milepost.errors import PreflightError
from milepost.job.spark.hardening import (
    KAFKA_FLAGS,
    defaults,
    is_safe_on_command_line,
    require,
)

LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1"}

REFUSED: list[tuple[str, dict[str, str], dict[str, str], str]] = [
    ("local[2]", {"spark.ui.enabled": "true", "spark.ui.killEnabled": "True"}, {}, "killEnabled cannot be"),
    ("yarn", {"spark.ui.enabled": "true"}, {}, "0.0.0.0 without a login"),
    ("local", {"spark.ui.enabled": "true"}, {"SPARK_LOCAL_IP": "10.0.0.5"}, "10.0.0.5 without a login"),
    ("spark://h:7077", {"spark.master.rest.enabled": "true"}, {}, "rest.enabled cannot be true"),
    (
        "local",
        {"spark.driver.bindAddress": "0.0.0.0", "spark.authenticate": "false"},
        {},
        "would listen on 0.0.0.0",
    ),
]


@pytest.mark.parametrize(("master", "conf", "environment", "sentence"), REFUSED)
def test_what_opens_a_door_is_refused(
    master: str, conf: dict[str, str], environment: dict[str, str], sentence: str
):
    with pytest.raises(PreflightError, match=sentence):
        require(master, defaults(master) | LOOPBACK | conf, environment)


ALLOWED: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("local[2]", {}, {}),
    ("yarn", {}, {}),
    ("local[2]", {"spark.ui.enabled": "true"}, {}),
    ("yarn", {"spark.ui.enabled": "true", "spark.ui.filters": "org.example.Login"}, {}),
    ("k8s://x", {"spark.ui.enabled": "true"}, {"SPARK_LOCAL_IP": "127.0.0.1"}),
    ("local", {"spark.driver.bindAddress": "0.0.0.0"}, {}),
]


@pytest.mark.parametrize(("master", "conf", "environment"), ALLOWED)
def test_what_opens_none_is_not(master: str, conf: dict[str, str], environment: dict[str, str]):
    require(master, defaults(master) | LOOPBACK | conf, environment)


def test_the_drivers_ports_want_a_secret_also_on_loopback():
    assert defaults("local[2]")["spark.authenticate"] == "true"
    assert "spark.authenticate.secret" not in defaults("local[2]"), "Spark makes one itself"
    first, second = (defaults("local-cluster[1,1,512]")["spark.authenticate.secret"] for _ in range(2))
    assert first != second
    assert len(first) >= 43
    assert first not in repr({"secret": first})
    # Elsewhere only the one who runs the cluster can give out a secret.
    assert "spark.authenticate" not in defaults("spark://host:7077")


def test_a_secret_does_not_stand_on_a_command_line():
    assert not is_safe_on_command_line("spark.hadoop.fs.s3a.secret.key", "x")
    assert not is_safe_on_command_line("spark.harmless", Secret("x"))
    assert not is_safe_on_command_line("spark.authenticate", "true"), "spark-submit would want the secret"
    assert is_safe_on_command_line("spark.master", "local")
    assert is_safe_on_command_line("spark.driver.extraJavaOptions", "-Dtoken.path=/x")
    assert is_safe_on_command_line("spark.kerberos.keytab", "/etc/krb5.keytab")


@pytest.mark.parametrize("key", ["kafka.sasl.jaas.config", "my.apiKey", "ssl.key.PASSWORD", "x.credential"])
def test_spark_hides_what_we_hide(key: str):
    for name in ("spark.redaction.regex", "spark.sql.redaction.options.regex"):
        assert re.search(defaults("local")[name].removeprefix("(?i)"), key, re.IGNORECASE)


def test_flags_of_kafkas_client():
    assert [flag.partition("=")[0].rpartition(".")[2] for flag in KAFKA_FLAGS] == [
        "modules",
        "providers",
        "urls",
    ]
