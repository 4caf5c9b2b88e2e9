"""A job whose broker wants TLS and a login, and whose own interface is behind TLS: it runs, and tells no secret."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
import trustme
import yaml
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from tests.hbase_client import HBaseClient
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import no_trace, wait_until
from tests.system.secured_kafka import PASSWORD, SecuredKafka, secured_kafka

from milepost.config.rest import is_loopback
from milepost.errors import MilepostError
from milepost.job.spark.hardening import KAFKA_FLAGS
from milepost.rest.client import Client
from milepost.services import Endpoints

TOPIC, GROUP, RECORDS = "secured", "secured-group", 20
TOKEN, READ_TOKEN = "the-admin-token-of-this-test", "the-reading-token-of-this-test"
SPARK_SECRET = "a-secret-among-the-settings-of-spark"
SECRETS = (PASSWORD, TOKEN, READ_TOKEN, SPARK_SECRET)


@dataclass(frozen=True)
class Secured:
    """A running job of ours, and everything around it."""

    driver: Driver
    file: Path
    folder: Path
    kafka: SecuredKafka
    certificate: str
    url: str

    def client(self, token: str) -> Client:
        return Client(address=self.url, token=token, certificate=self.certificate)

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "milepost", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **env}
        )


def put(folder: Path, name: str, text: str) -> str:
    path = folder / "kept" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return f"${{file:{path}}}"


def document(folder: Path, kafka: SecuredKafka, services: Endpoints, tls: dict[str, str]) -> dict[str, Any]:
    return {
        "name": "secured",
        "source": {
            "kafka": {
                "bootstrap-servers": kafka.bootstrap_servers,
                "topics": [TOPIC],
                "group-id": GROUP,
                "start": "earliest",
                "format": "json",
                "schema": "id STRING, n INT",
                "properties": kafka.java(put(folder, "password", PASSWORD)),
            }
        },
        "sink": {
            "hbase": {
                "quorum": services.quorum,
                "table": folder.name,
                "row-key": ["id"],
                "columns": {"d": ["n"]},
                "encoding": "string",
            }
        },
        "checkpointing": {
            "dir": str(folder / "checkpoint"),
            "interval": "1s",
            "savepoint-dir": str(folder / "savepoints"),
        },
        "spark": {
            "master": "local[2]",
            "conf": {"spark.hadoop.fs.s3a.secret.key": put(folder, "spark", SPARK_SECRET)},
        },
        "restart": {"strategy": "none"},
        "rest": {
            "bind": "127.0.0.1:0",
            "tls": tls,
            "token": put(folder, "token", TOKEN),
            "read-token": put(folder, "read-token", READ_TOKEN),
        },
    }


@pytest.fixture(scope="module")
def secured(
    services: Endpoints, hbase: HBaseClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp(f"secured-{uuid.uuid4().hex[:6]}-")
    issued = trustme.CA().issue_cert("127.0.0.1")
    tls = {"certificate": str(folder / "rest.crt"), "key": str(folder / "rest.key")}
    for pem in issued.cert_chain_pems:
        pem.write_to_path(tls["certificate"], append=True)
    issued.private_key_pem.write_to_path(tls["key"])
    hbase.create_table(folder.name, "d")
    with ExitStack() as stack:
        # The registry of running jobs lies there.
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("TMPDIR", str(folder))
        kafka = stack.enter_context(secured_kafka(folder / "kafka"))
        fill(kafka)
        file = write_pipeline(folder, document(folder, kafka, services, tls))
        driver = stack.enter_context(Driver(file))
        wait_until(lambda: "Token: " in driver.output or driver.process.poll() is not None, "it runs", 120)
        found = re.search(r"REST interface: (https://127\.0\.0\.1:\d+)\n", driver.output)
        assert found, driver.output
        assert "Token: as configured in rest.token" in driver.output
        yield Secured(driver, file, folder, kafka, tls["certificate"], found[1])


def fill(kafka: SecuredKafka) -> None:
    admin = AdminClient(kafka.client)
    admin.create_topics([NewTopic(TOPIC, num_partitions=1, replication_factor=1)])[TOPIC].result(timeout=60)
    producer = Producer(kafka.client)
    for n in range(RECORDS):
        producer.produce(TOPIC, json.dumps({"id": f"k{n}", "n": n}).encode(), key=b"k")
    assert producer.flush(60) == 0


def committed(kafka: SecuredKafka) -> int:
    consumer = Consumer({**kafka.client, "group.id": GROUP})
    try:
        return int(consumer.committed([TopicPartition(TOPIC, 0)], timeout=30)[0].offset)
    except KafkaException as error:
        # A new broker makes the topic of the groups when the first one comes; meanwhile nobody has it.
        if error.args[0].code() != KafkaError.NOT_COORDINATOR:
            raise
        return -1
    finally:
        consumer.close()


@pytest.mark.timeout(300)
def test_records_come_through_and_the_groups_offsets_are_committed(secured: Secured) -> None:
    reading = secured.client(READ_TOKEN)
    job = reading.job_id()
    wait_until(lambda: reading.get(f"/milepost/jobs/{job}/progress")["rows"] == RECORDS, "all are written")
    wait_until(lambda: committed(secured.kafka) == RECORDS, "the group is committed")
    shown = secured.run("offsets", str(secured.file), "--json")
    assert shown.returncode == 0, shown.stderr
    assert str(RECORDS) in shown.stdout


@pytest.mark.timeout(300)
def test_commands_speak_tls_and_the_reading_token_changes_nothing(secured: Secured) -> None:
    assert secured.run("status", "secured").returncode == 0
    looked = secured.run(
        "status", secured.url, MILEPOST_TOKEN=READ_TOKEN, MILEPOST_CA_FILE=secured.certificate
    )
    assert looked.returncode == 0, looked.stderr
    refused = secured.run("checkpoint", "trigger", "secured", MILEPOST_TOKEN=READ_TOKEN)
    assert (refused.returncode, "This token is read-only" in refused.stderr) == (2, True), refused.stderr
    lines = (secured.folder / "checkpoint/milepost/refused.jsonl").read_text().splitlines()
    assert [(each["principal"], each["status"]) for each in map(json.loads, lines)] == [("read", 403)]


@pytest.mark.timeout(120)
def test_every_port_of_the_job_is_of_loopback_and_no_jvm_opens_one_for_management(secured: Secured) -> None:
    ours = psutil.Process(secured.driver.process.pid)
    family = [ours, *ours.children(recursive=True)]
    jvms = [process for process in family if process.name() == "java"]
    assert jvms
    listening = {
        (process.pid, connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port)
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert int(secured.url.rpartition(":")[2]) in {port for _, _, port in listening}
    assert [each for each in listening if not is_loopback(each[1])] == []
    # Of the JVM: Py4J's gateway, the driver's calls and its blocks; all three want a secret.
    assert len([each for each in listening if each[0] in {jvm.pid for jvm in jvms}]) <= 3
    for jvm in jvms:
        line = jvm.cmdline()
        assert all(flag in line for flag in KAFKA_FLAGS)
        assert not [word for word in line if "jmx" in word.lower() or "rmi" in word.lower()]


@pytest.mark.timeout(120)
def test_under_a_flood_checkpoints_go_on_and_commands_are_answered(secured: Secured) -> None:
    """The short form of bench/rest_load.py, which measures what it costs."""
    client = secured.client(READ_TOKEN)
    path = f"/milepost/jobs/{client.job_id()}/progress"
    over = threading.Event()

    def ask_on() -> None:
        while not over.is_set():
            with suppress(MilepostError):
                secured.client("not-a-token").get("/jobs")

    asking = [threading.Thread(target=ask_on) for _ in range(4)]
    before = int(client.get(path)["checkpoint-id"])
    with ExitStack() as stack:
        for thread in asking:
            thread.start()
            stack.callback(thread.join)
        stack.callback(over.set)
        port = int(secured.url.rpartition(":")[2])
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        wait_until(lambda: int(client.get(path)["checkpoint-id"]) >= before + 3, "three checkpoints later")
        assert secured.run("status", "secured").returncode == 0


@pytest.mark.timeout(300)
def test_a_wrong_password_is_a_sentence(secured: Secured) -> None:
    content = yaml.safe_load(secured.file.read_text())
    wrong = replace(secured.kafka).java(put(secured.folder, "wrong", "not-the-password"))
    content["source"]["kafka"]["properties"] = wrong
    content["checkpointing"]["dir"] = str(secured.folder / "unused")
    file = secured.folder / "wrong.yaml"
    file.write_text(yaml.safe_dump(content))
    began = time.monotonic()
    offsets = secured.run("offsets", str(file))
    checked = secured.run("check", str(file))
    for answer in (offsets, checked):
        said = answer.stdout + answer.stderr
        assert answer.returncode in (2, 3), said
        assert no_trace(said)
        assert "not-the-password" not in said
    assert re.search(r"(?i)authenticat|log.?in|credential", checked.stderr), checked.stderr
    assert time.monotonic() - began < 100


@pytest.mark.timeout(300)
def test_after_the_end_the_table_is_the_log_and_no_secret_was_told(secured: Secured) -> None:
    said = everything_asked(secured)
    on_command_lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
    stopped = secured.run("stop", "secured", "--json")
    assert stopped.returncode == 0, stopped.stderr
    assert secured.driver.end() == 0, secured.driver.output
    verified = secured.run("verify", str(secured.file))
    assert f"VERIFIED records={RECORDS} missing=0" in verified.stdout, verified.stdout + verified.stderr
    said |= {"stop": stopped.stdout + stopped.stderr, "verify": verified.stdout + verified.stderr}
    said |= {"command lines": "\n".join(on_command_lines)}
    said |= {"run": secured.driver.output}
    said |= {
        str(path): path.read_bytes().decode("utf-8", "replace")
        for path in secured.folder.rglob("*")
        if path.is_file() and path != secured.driver.log and not is_kept_apart(path, secured.folder)
    }
    assert [(place, secret) for place, text in said.items() for secret in SECRETS if secret in text] == []


def is_kept_apart(path: Path, folder: Path) -> bool:
    """Whether this is one of the files that the secrets come from, or the broker's own."""
    return path.is_relative_to(folder / "kept") or path.is_relative_to(folder / "kafka")


def everything_asked(secured: Secured) -> dict[str, str]:
    """Return every answer of the interface that needs no id, and of those that need the job's."""
    client = secured.client(TOKEN)
    job = client.job_id()
    paths = client.get("/openapi.json")["paths"]
    trusted = ssl.create_default_context(cafile=secured.certificate)
    trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    said = {}
    for path in (each for each, methods in paths.items() if "get" in methods):
        target = path.replace("{jobid}", job)
        if "{" not in target:
            request = Request(secured.url + target, headers={"Authorization": f"Bearer {TOKEN}"})
            said[target] = text_of(request, trusted)
    assert len(said) > 10
    return said


def text_of(request: Request, trusted: ssl.SSLContext) -> str:
    """Return what is answered, whether it is a result or a refusal."""
    try:
        with urlopen(request, timeout=30, context=trusted) as answer:
            return str(answer.read().decode())
    except HTTPError as refused:
        with refused:
            return refused.read().decode()
