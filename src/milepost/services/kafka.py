"""The embedded Kafka: one broker that is its own KRaft controller, configured for a fast start and a small heap."""

from __future__ import annotations

import base64
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from milepost.errors import ServicesError
from milepost.services import classpath
from milepost.services.java import run_tool
from milepost.services.model import KAFKA, Settings
from milepost.services.ports import LOOPBACK, accepts_connections

DEFAULTS: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # After a kill the controller waits this long for the dead broker's session: 9 s by default.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    # The default would use a quarter of the heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
}

# librdkafka would print every refused connection while the broker starts.
SILENT = logging.getLogger("milepost.services.kafka.probe")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


@dataclass(frozen=True, slots=True)
class Kafka:
    """Configures, starts and probes a Kafka under `folder`."""

    folder: Path
    settings: Settings

    name: ClassVar[str] = KAFKA
    port_names: ClassVar[tuple[str, ...]] = ("broker", "controller")
    abort_markers: ClassVar[tuple[str, ...]] = ()

    def address(self, ports: Mapping[str, int]) -> str:
        """Return the bootstrap server."""
        return f"{LOOPBACK}:{ports['broker']}"

    def classpath(self) -> str:
        """Return the class path of the broker."""
        return classpath.join(classpath.jars_of(KAFKA))

    def configure(self, ports: Mapping[str, int], java: Path) -> None:
        """Write server.properties, and format the data folder unless that was completed before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._properties_file.write_text(properties(self.folder, ports, self.settings), encoding="ascii")
        data = self.folder / "data"
        # The tool writes these two last; if either is missing, an earlier format was interrupted.
        if not all((data / name).exists() for name in ("meta.properties", "bootstrap.checkpoint")):
            self._format(java)

    def command(self) -> list[str]:
        """Return the JVM's heap, main class and arguments."""
        heap = self.settings.kafka_heap
        return [f"-Xmx{heap}", "kafka.Kafka", str(self._properties_file)]

    def is_usable(self, ports: Mapping[str, int], *, java: Path, waited: timedelta) -> bool:
        """Return whether the broker returns metadata and the controller would create a topic now."""
        del java, waited
        if not accepts_connections(ports["broker"]):
            return False
        client = AdminClient({"bootstrap.servers": self.address(ports)}, logger=SILENT)
        try:
            client.list_topics(timeout=5)
            topic = NewTopic("milepost-services-probe", num_partitions=1, replication_factor=1)
            for answer in client.create_topics([topic], validate_only=True, request_timeout=5).values():
                answer.result()
        except KafkaException:
            return False
        return True

    @property
    def _properties_file(self) -> Path:
        return self.folder / "server.properties"

    def _format(self, java: Path) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # An id that starts with a dash would be parsed as an option.
        cluster = cluster.replace("-", "A", 1) if cluster.startswith("-") else cluster
        config = str(self._properties_file)
        tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", cluster, "-c", config]
        result = run_tool(java, self.classpath(), tool, timeout=timedelta(seconds=60))
        if result.returncode != 0:
            raise ServicesError(
                f"The data folder of the embedded Kafka, {self.folder / 'data'}, could not be formatted",
                why=(result.stderr or result.stdout).strip()[-500:],
                fix="Check your Kafka properties, and the free space and permissions of that folder",
            )


def properties(folder: Path, ports: Mapping[str, int], settings: Settings) -> str:
    """Return server.properties; the settings for loopback and for our folders cannot be overridden."""
    broker, controller = (f"{LOOPBACK}:{ports[name]}" for name in Kafka.port_names)
    fixed = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"BROKER://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"BROKER://{broker}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder / "data"),
    }
    merged = {**DEFAULTS, **settings.kafka_properties, **fixed}
    return "".join(f"{_escape(key, key=True)}={_escape(value)}\n" for key, value in merged.items())


def _escape(text: str, *, key: bool = False) -> str:
    """Return text escaped for a Java properties file: ASCII, one line, separators escaped in keys."""
    special = "\\ :=#!" if key else "\\"
    out = []
    for char in text:
        if char in special:
            out.append(f"\\{char}")
        elif char.isascii() and char.isprintable():
            out.append(char)
        else:
            units = char.encode("utf-16-be").hex()
            out.extend(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    # Java drops leading white space of a value.
    return "\\" + "".join(out) if out and out[0] == " " else "".join(out)
