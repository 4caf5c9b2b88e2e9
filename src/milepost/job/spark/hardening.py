"""Disables features of Spark and Kafka's client that a job does not need, and refuses settings that expose it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from milepost.config.rest import is_loopback
from milepost.config.values.secret import SENSITIVE_KEYS, Secret, is_sensitive
from milepost.errors import PreflightError

KAFKA_FLAGS = (
    # CVE-2023-25194, CVE-2025-27818: login modules that fetch code or query a directory. Current clients block
    # these by default; another client version on the class path must not change that.
    "-Dorg.apache.kafka.disallowed.login.modules=com.sun.security.auth.module.JndiLoginModule,"
    "com.sun.security.auth.module.LdapLoginModule",
    # CVE-2024-31141: configuration providers that read files and environment variables.
    "-Dorg.apache.kafka.automatic.config.providers=none",
    # CVE-2025-27817: URLs that the client may fetch; a login by OAUTHBEARER sets its own.
    "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=",
)
"""JVM options of driver and executors; `spark.conf` can override each of them, because its options come later."""

_TRUE = "true"


def defaults(master: str) -> dict[str, str]:
    """Return the default settings, which the user can override."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.master.rest.enabled": "false",
        "spark.redaction.regex": f"(?i){SENSITIVE_KEYS}",
        "spark.sql.redaction.options.regex": f"(?i)url|{SENSITIVE_KEYS}",
    }
    if master.startswith("local"):
        # On loopback too: the driver's ports accept serialized Java objects, and other users can reach them.
        conf["spark.authenticate"] = _TRUE
    if master.startswith("local-cluster"):
        conf["spark.authenticate.secret"] = Secret(secrets.token_urlsafe(32))
    return conf


def require(master: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Refuse settings with which others could read or stop the job, or send it serialized objects."""
    if _is_on(conf, "spark.ui.enabled"):
        _require_protected_ui(master, conf, environment)
    if _is_on(conf, "spark.master.rest.enabled"):
        raise PreflightError(
            "spark.master.rest.enabled cannot be true",
            why="it runs programs submitted by any client that can reach its port",
            fix="Remove it from spark.conf",
        )
    bind = conf.get("spark.driver.bindAddress", "")
    if master.startswith("local") and not is_loopback(bind) and not _is_on(conf, "spark.authenticate"):
        raise PreflightError(
            f"The driver would listen on {bind} without authentication",
            why="with a local master no other host needs to reach it, and it accepts serialized Java objects",
            fix="Remove spark.driver.bindAddress, or set spark.authenticate to true",
        )


def is_safe_on_command_line(key: str, value: str) -> bool:
    """Return whether a setting may be passed on the command line, which every user of the machine can read."""
    if key.endswith(("extraJavaOptions", "extraClassPath", ".keytab")):
        return True  # needed before the JVM starts; a keytab is a path
    if key.startswith("spark.authenticate"):
        return False  # spark-submit would require the secret too
    return not isinstance(value, Secret) and not is_sensitive(key)


def _require_protected_ui(master: str, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    if _is_on(conf, "spark.ui.killEnabled"):
        raise PreflightError(
            "spark.ui.killEnabled cannot be true",
            why="Spark's UI has no login, and a link to it can kill the batches of this job",
            fix="Remove it from spark.conf; `milepost cancel` and `milepost stop` stop a job",
        )
    host = environment.get("SPARK_LOCAL_IP", "127.0.0.1" if master.startswith("local") else "0.0.0.0")
    if not is_loopback(host) and not conf.get("spark.ui.filters"):
        raise PreflightError(
            f"Spark's UI would listen on {host} without a login",
            why="every client that can reach it sees the job's settings and plans",
            fix="Remove spark.ui.enabled: `milepost run` serves its own dashboard. "
            "Or set spark.ui.filters, or SPARK_LOCAL_IP to a loopback address",
        )


def _is_on(conf: Mapping[str, str], key: str) -> bool:
    return conf.get(key, "").strip().lower() == _TRUE
