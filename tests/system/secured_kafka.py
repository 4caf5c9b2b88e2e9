"""A broker whose clients must encrypt and log in (SASL_SSL, SCRAM), beside the one that the other tests use."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import trustme
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives import serialization as pem
from tests.system.lab import wait_until

from milepost.services.java import child_environment, find_java, run_tool
from milepost.services.kafka import SILENT, Kafka, properties
from milepost.services.model import Settings
from milepost.services.ports import LOOPBACK, choose_ports

USER = "milepost"
PASSWORD = "correct horse; battery staple"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class SecuredKafka:
    """Where it listens, and what its clients need."""

    bootstrap_servers: str
    authority: Path

    def java(self, password: str = PASSWORD) -> dict[str, str]:
        """Return the properties as a pipeline has them."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{_SCRAM} required username="{USER}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }

    @property
    def client(self) -> dict[str, Any]:
        """Return the same for this test's own client."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.authority),
            "log_level": 2,
        }


@contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """Run the broker until the block ends."""
    folder.mkdir(parents=True)
    broker, controller, clients = choose_ports(("broker", "controller", "clients"), {}).values()
    service = Kafka(folder, Settings())
    keystore, authority = _certificates(folder)
    config = folder / "server.properties"
    config.write_text(
        properties(folder, {"broker": broker, "controller": controller}, Settings())
        # Of two lines with one key the last one counts.
        + f"listeners=BROKER://{LOOPBACK}:{broker},CONTROLLER://{LOOPBACK}:{controller},CLIENTS://{LOOPBACK}:{clients}\n"
        f"advertised.listeners=BROKER://{LOOPBACK}:{broker},CLIENTS://{LOOPBACK}:{clients}\n"
        "listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENTS:SASL_SSL\n"
        "sasl.enabled.mechanisms=SCRAM-SHA-512\n"
        f"listener.name.clients.scram-sha-512.sasl.jaas.config={_SCRAM} required;\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={keystore}\n"
    )
    java = find_java()
    user = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
    tool = ["kafka.tools.StorageTool", "format", "-t", "c2VjdXJlZC1rYWZrYS0xMg", "-c", str(config)]
    made = run_tool(java, service.classpath(), [*tool, "--add-scram", user], timeout=timedelta(seconds=60))
    assert made.returncode == 0, made.stderr or made.stdout
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen(
            [str(java), *service.command()],
            env=child_environment(service.classpath()),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        kafka = SecuredKafka(f"{LOOPBACK}:{clients}", authority)
        wait_until(lambda: _answers(kafka), "the broker lets its user in", 90)
        yield kafka
    finally:
        process.kill()
        process.wait()


def _certificates(folder: Path) -> tuple[Path, Path]:
    authority = trustme.CA()
    issued = authority.issue_cert(LOOPBACK, "localhost")
    key = pem.load_pem_private_key(issued.private_key_pem.bytes(), None)
    keystore, ca = folder / "keystore.pem", folder / "ca.pem"
    # Kafka reads keys of one form alone.
    keystore.write_bytes(
        key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
        + b"".join(each.bytes() for each in issued.cert_chain_pems)
    )
    authority.cert_pem.write_to_path(ca)
    return keystore, ca


def _answers(kafka: SecuredKafka) -> bool:
    try:
        AdminClient(kafka.client, logger=SILENT).list_topics(timeout=5)
    except KafkaException:
        return False
    return True
