"""Decides whether the look-up honours every relevant setting of the HBase client; otherwise it must not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from milepost.config import HBaseSink

_PARENT = "zookeeper.znode.parent"
_QUORUM = "hbase.zookeeper.quorum"
_PORT = "hbase.zookeeper.property.clientPort"
_DEFAULT_PORT = "2181"
# Authentication, encryption, and other ways to find HBase.
_UNSUPPORTED = re.compile(
    r"security|ssl|tls|sasl|kerberos|auth|secure|crypto|protection|registry|masters|bootstrap"
    r"|hbase\.client\.zookeeper|rpc\.client\.impl|connection\.impl|znode\.master|socket",
    re.IGNORECASE,
)
_SWITCHED_OFF = {"", "false", "none", "simple"}
# The HBase client reads the first two from the class path; the others can change the class path.
_SETTING_FILES = ("hbase-site.xml", "core-site.xml", "spark-defaults.conf", "spark-env.sh")
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_OPTIONS = "spark.driver.extraJavaOptions"
_PASSED_ON = ("spark.hadoop.", "spark.kerberos.")
"""Spark settings that reach the Hadoop libraries."""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The ZooKeeper servers of an HBase, and the parent of its nodes."""

    servers: tuple[tuple[str, int], ...]
    parent: str


def find_ensemble(sink: HBaseSink) -> Ensemble | None:
    """Return the address of ZooKeeper; None if a setting asks for more than a plain connection."""
    settings = dict(_site(Path(sink.site))) if sink.site is not None else {}
    settings |= {key: str(value) for key, value in sink.properties.items()}
    if any(
        _UNSUPPORTED.search(key) and value.lower() not in _SWITCHED_OFF for key, value in settings.items()
    ):
        return None
    quorum = ",".join(sink.quorum) if sink.quorum is not None else settings.get(_QUORUM, "")
    port, parent = settings.get(_PORT, _DEFAULT_PORT), settings.get(_PARENT, "/hbase")
    servers = tuple(_address(server.strip(), port) for server in quorum.split(",") if server.strip())
    if not servers or "$" in f"{quorum}{port}{parent}":
        return None
    return Ensemble(servers, parent)


def reads_other_settings(spark: Mapping[str, str], environment: Mapping[str, str], home: Path) -> bool:
    """Return whether the driver's JVM may read HBase settings from other places; `home` is Spark's folder."""
    options = [spark.get(_OPTIONS, ""), *(environment.get(name, "") for name in _OPTION_VARIABLES)]
    secured = (key.startswith(_PASSED_ON) and _UNSUPPORTED.search(key) for key in spark)
    if any("-D" in given for given in options) or any(secured):
        return True
    own = environment.get("SPARK_CONF_DIR") or home / "conf"
    folders = [own, environment.get("HADOOP_CONF_DIR"), environment.get("YARN_CONF_DIR")]
    return any((Path(folder) / name).exists() for folder in folders if folder for name in _SETTING_FILES)


def _site(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the properties of a site file; raise ValueError if it includes other files."""
    for element in ElementTree.parse(file).getroot():
        if element.tag != "property":
            raise ValueError(f"{file} has a <{element.tag}>")
        yield (element.findtext("name") or "").strip(), (element.findtext("value") or "").strip()


def _address(server: str, port: str) -> tuple[str, int]:
    host, colon, own = server.rpartition(":")
    return (host.strip("[]"), int(own)) if colon else (server, int(port))
