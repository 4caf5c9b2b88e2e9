"""The embedded Kafka and HBase as users and enemies meet them: clients, kills, others, crashes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.hbase_client import HBaseClient
from typer.testing import CliRunner

from milepost.cli.services import app
from milepost.errors import ServicesError
from milepost.services import Endpoints, Services, Settings, State, process

KAFKA_ONLY = frozenset({"kafka"})


def create_topic(bootstrap_servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)]).values():
        created.result()


def produce(bootstrap_servers: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 2)
    assert producer.flush(20) == 0


def consume(bootstrap_servers: str, topic: str, count: int) -> list[bytes]:
    """Read with a group, so that the offsets topic and its coordinator are part of it."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([topic])
    values: list[bytes] = []
    try:
        while len(values) < count:
            message = consumer.poll(20)
            assert message is not None, f"only {len(values)} of {count} records came"
            assert message.error() is None
            value = message.value()
            assert value is not None
            values.append(value)
    finally:
        consumer.close()
    return sorted(values)


def pids(instance: Services) -> dict[str, int]:
    return {each.name: each.pid for each in instance.status() if each.pid is not None}


def listening(pid: int) -> set[str]:
    connections = psutil.Process(pid).net_connections(kind="inet")
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}


def in_a_process(directory: Path) -> subprocess.Popen[str]:
    """Bring Kafka up from another process, as a second terminal would."""
    script = (
        "import sys; from milepost.services import Services; "
        "print(Services(sys.argv[1]).up(only=frozenset({'kafka'})).bootstrap_servers)"
    )
    return subprocess.Popen([sys.executable, "-c", script, directory], stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def second(services: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Another instance, started while the shared one runs."""
    instance = Services(tmp_path_factory.mktemp("second") / "with a space")
    with instance:
        yield instance


@pytest.fixture
def kafka_directory(tmp_path: Path) -> Iterator[Path]:
    """A directory whose services, whoever starts them, end with the test."""
    yield tmp_path
    Services(tmp_path).down()


def test_kafka_serves_a_group_right_after_up(services: Endpoints):
    create_topic(services.bootstrap_servers, "round-trip")
    values = [b"%03d" % number for number in range(100)]
    produce(services.bootstrap_servers, "round-trip", values)
    assert consume(services.bootstrap_servers, "round-trip", 100) == values


def test_hbase_creates_a_table_right_after_up(hbase: HBaseClient):
    hbase.create_table("services-round-trip", "d")
    hbase.put("services-round-trip", b"row", {(b"d", b"q"): b"value"})
    assert hbase.get("services-round-trip", b"row") == {(b"d", b"q"): b"value"}


def test_everything_listens_on_loopback_only(running_services: Services):
    addresses = {name: listening(pid) for name, pid in pids(running_services).items()}
    assert addresses == {"kafka": {"127.0.0.1"}, "hbase": {"127.0.0.1"}}


def test_children_hear_no_ctrl_c_of_this_terminal(running_services: Services):
    assert os.getsid(0) not in {os.getsid(pid) for pid in pids(running_services).values()}


def test_up_when_already_up_returns_the_same_endpoints(running_services: Services, services: Endpoints):
    said: list[str] = []
    before = pids(running_services)
    again = Services(running_services.directory, report=said.append).up()
    assert again == services
    assert pids(running_services) == before
    assert [line.split(":")[1] for line in said] == [" already running at 127.0.0.1"] * 2


def test_status_command_shows_what_runs(running_services: Services, services: Endpoints):
    result = CliRunner().invoke(app, ["status", "--dir", str(running_services.directory), "--json"])
    assert result.exit_code == 0
    shown = {each["name"]: (each["state"], each["address"]) for each in json.loads(result.stdout)}
    assert shown == {"kafka": ("running", services.bootstrap_servers), "hbase": ("running", services.quorum)}


def test_second_instance_runs_beside_the_first(second: Services, services: Endpoints):
    other = second.endpoints()
    assert {other.bootstrap_servers, other.quorum}.isdisjoint({services.bootstrap_servers, services.quorum})
    create_topic(other.bootstrap_servers, "only-there")
    first = AdminClient({"bootstrap.servers": services.bootstrap_servers}).list_topics(timeout=10).topics
    assert "only-there" not in first


def test_kill_then_up_keeps_all_data_and_avoids_a_taken_port(second: Services):
    before = second.endpoints()
    create_topic(before.bootstrap_servers, "survivor")
    values = [b"%03d" % number for number in range(100)]
    produce(before.bootstrap_servers, "survivor", values)
    with HBaseClient(before.quorum) as client:
        client.create_table("survivor", "d")
        for value in values:
            client.put("survivor", value, {(b"d", b"q"): value})

    killed = list(pids(second).values())
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    gone = threading.Event()
    while any(process.observe(pid) for pid in killed):
        gone.wait(0.05)
    assert [each.state for each in second.status()] == [State.STALE, State.STALE]
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", int(before.bootstrap_servers.split(":")[1])))
        squatter.listen()
        after = second.up()

    assert after.bootstrap_servers != before.bootstrap_servers
    assert after.quorum == before.quorum
    assert second.endpoints() == after
    assert consume(after.bootstrap_servers, "survivor", 100) == values
    with HBaseClient(after.quorum) as client:
        assert client.count("survivor") == 100


def test_two_ups_at_once_start_one_broker_that_outlives_them(kafka_directory: Path):
    both = [in_a_process(kafka_directory), in_a_process(kafka_directory)]
    answers = {each.communicate(timeout=60)[0].strip() for each in both}
    assert len(answers) == 1
    assert Services(kafka_directory).endpoints().bootstrap_servers == answers.pop()
    marked = [p.pid for p in psutil.process_iter(["cmdline"]) if _is_of(p, kafka_directory)]
    assert len(marked) == 1


def test_up_takes_over_where_a_killed_up_left_off(kafka_directory: Path):
    starter = in_a_process(kafka_directory)
    instance = Services(kafka_directory)
    moment = threading.Event()
    while not pids(instance):
        assert starter.poll() is None
        moment.wait(0.02)
    starter.kill()
    starter.communicate()
    left = instance.status()[0]
    assert left.state is State.STARTING
    assert instance.up(only=KAFKA_ONLY).bootstrap_servers == left.address
    assert pids(instance) == {"kafka": left.pid}


def test_failed_start_shows_the_log_and_leaves_nothing(kafka_directory: Path):
    broken = Settings(kafka_properties={"metric.reporters": "no.such.Reporter"})
    instance = Services(kafka_directory, settings=broken)
    with pytest.raises(ServicesError) as failure, instance:
        pytest.fail("it must not come up")
    assert str(kafka_directory / "kafka" / "log" / "kafka.log") in failure.value.fix
    assert "no.such.Reporter" in failure.value.why
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if _is_of(p, kafka_directory)] == []


def test_an_hbase_that_aborts_is_reported_immediately(tmp_path: Path):
    """Its process stays, and `up` waited 120 s for it."""
    broken = Settings(
        hbase_properties={"hbase.coprocessor.master.classes": "no.such.Class"},
        start_timeout=timedelta(minutes=10),
    )
    said: list[str] = []
    instance = Services(tmp_path, settings=broken, report=said.append)
    began = time.monotonic()
    try:
        with pytest.raises(ServicesError, match=r"no\.such\.Class") as failure:
            instance.up(only=frozenset({"hbase"}))
    finally:
        instance.down()
    assert time.monotonic() - began < 120
    assert str(tmp_path / "hbase" / "log" / "hbase.log") in failure.value.fix
    assert any("no.such.Class" in line for line in said)
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if _is_of(p, tmp_path)] == []


def test_down_spares_another_program_with_the_pid(tmp_path: Path):
    # Its command line is visible only once it runs; until then it could also be one of ours.
    other = subprocess.Popen(
        [sys.executable, "-c", "print('here', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"here\n"
        running = process.observe(other.pid)
        assert running is not None
        record = {
            "pid": other.pid,
            "born": running.start_token,
            "ready": True,
            "since": "",
            "ports": {"broker": 1},
        }
        (tmp_path / "kafka").mkdir()
        (tmp_path / "kafka" / "process.json").write_text(json.dumps(record))
        assert Services(tmp_path).status()[0].state is State.STALE
        assert Services(tmp_path).down() == ()
        assert other.poll() is None
    finally:
        other.communicate(b"\n")


def _is_of(candidate: psutil.Process, directory: Path) -> bool:
    return any(
        word.startswith(f"-Dmilepost.services={directory}") for word in candidate.info["cmdline"] or ()
    )
