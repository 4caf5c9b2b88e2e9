"""Keeps the doors of Spark and of Kafka's client closed that nobody needs, and refuses settings that open them wide."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from milepost.config.rest import is_loopback
from milepost.config.values.secret import SENSITIVE_KEYS, Secret, is_sensitive
from milepost.errors import PreflightError

KAFKA_FLAGS = (
    # CVE-2023-25194, CVE-2025-27818: login modules that fetch code or ask a directory. Kafka blocks these itself by
    # now; a newer or older client on the class path must not change that.
    "-Dorg.apache.kafka.disallowed.login.modules=com.sun.security.auth.module.JndiLoginModule,"
    "com.sun.security.auth.module.LdapLoginModule",
    # CVE-2024-31141: values that Kafka's client would read from files and variables.
    "-Dorg.apache.kafka.automatic.config.providers=none",
    # CVE-2025-27817: addresses that the client would fetch; a login by OAUTHBEARER names its own.
    "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=",
)
"""Of driver and executors; who needs one of them otherwise sets it behind these, in `spark.conf`."""

_TRUE = "true"


def defaults(master: str) -> dict[str, str]:
    """Return what is set unless the user sets it."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.master.rest.enabled": "false",
        "spark.redaction.regex": f"(?i){SENSITIVE_KEYS}",
        "spark.sql.redaction.options.regex": f"(?i)url|{SENSITIVE_KEYS}",
    }
    if master.startswith("local"):
        # Also on loopback: what the driver's ports are sent is Java objects, and other users can reach them.
        conf["spark.authenticate"] = _TRUE
    if master.startswith("local-cluster"):
        conf["spark.authenticate.secret"] = Secret(secrets.token_urlsafe(32))
    return conf


def require(master: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Refuse settings with which others could read or end the job, or send it objects."""
    if _is_on(conf, "spark.ui.enabled"):
        _require_closed_page(master, conf, environment)
    if _is_on(conf, "spark.master.rest.enabled"):
        raise PreflightError(
            "spark.master.rest.enabled cannot be true",
            why="it takes programs from whoever reaches its port, and runs them",
            fix="Leave it out of spark.conf",
        )
    bind = conf.get("spark.driver.bindAddress", "")
    if master.startswith("local") and not is_loopback(bind) and not _is_on(conf, "spark.authenticate"):
        raise PreflightError(
            f"The driver would listen at {bind} without a secret",
            why="with a local master nobody needs to reach it, and what it is sent is Java objects",
            fix="Leave spark.driver.bindAddress out, or leave spark.authenticate on",
        )


def is_for_the_command_line(key: str, value: str) -> bool:
    """Return whether a setting may stand where every user of the machine can read it; Spark gets the others later."""
    if key.endswith(("extraJavaOptions", "extraClassPath", ".keytab")):
        return True  # needed before there is a JVM; the last is a path
    if key.startswith("spark.authenticate"):
        return False  # spark-submit would want the secret too
    return not isinstance(value, Secret) and not is_sensitive(key)


def _require_closed_page(master: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    if _is_on(conf, "spark.ui.killEnabled"):
        raise PreflightError(
            "spark.ui.killEnabled cannot be true",
            why="Spark's page has no login, and a link to it ends the batches of this job",
            fix="Leave it out of spark.conf; `milepost cancel` and `milepost stop` end a job",
        )
    host = environment.get("SPARK_LOCAL_IP", "127.0.0.1" if master.startswith("local") else "0.0.0.0")
    if not is_loopback(host) and not conf.get("spark.ui.filters"):
        raise PreflightError(
            f"Spark's page would listen at {host} without a login",
            why="whoever reaches it sees the job's settings and plans",
            fix="Leave spark.ui.enabled out: `milepost run` serves a page of its own. "
            "Or set spark.ui.filters, or SPARK_LOCAL_IP to a loopback address",
        )


def _is_on(conf: Mapping[str, str], key: str) -> bool:
    return conf.get(key, "").strip().lower() == _TRUE
