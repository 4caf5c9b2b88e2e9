from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from milepost.services.kafka import Kafka, properties
from milepost.services.model import Settings
from milepost.services.ports import choose_ports

PORTS = {"broker": 19092, "controller": 19093}


def parsed(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_properties_bind_loopback_only():
    shown = parsed(properties(Path("/data/kafka"), PORTS, Settings()))
    assert shown["listeners"] == "BROKER://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093"
    assert shown["advertised.listeners"] == "BROKER://127.0.0.1:19092"
    assert shown["controller.quorum.voters"] == "1@127.0.0.1:19093"
    assert shown["auto.create.topics.enable"] == "false"


def test_users_properties_win_over_defaults_but_not_over_addresses():
    settings = Settings(
        kafka_properties={"group.initial.rebalance.delay.ms": "3000", "listeners": "PLAINTEXT://0.0.0.0:1"}
    )
    shown = parsed(properties(Path("/data/kafka"), PORTS, settings))
    assert shown["group.initial.rebalance.delay.ms"] == "3000"
    assert "0.0.0.0" not in shown["listeners"]


def test_properties_escape_what_java_would_misread():
    settings = Settings(kafka_properties={"a b:c": " back\\slash \U0001f600\n"})
    text = properties(Path("/data é/kafka"), PORTS, settings)
    assert text.isascii()
    assert "log.dirs=/data \\u00e9/kafka/data\n" in text
    assert "a\\ b\\:c=\\ back\\\\slash \\ud83d\\ude00\\u000a\n" in text


def test_address_is_the_brokers():
    kafka = Kafka(Path("/data/kafka"), Settings(kafka_heap="300m"))
    assert kafka.address(PORTS) == "127.0.0.1:19092"
    assert kafka.command() == ["-Xmx300m", "kafka.Kafka", "/data/kafka/server.properties"]


def test_not_usable_while_nothing_listens():
    kafka = Kafka(Path("/data/kafka"), Settings())
    ports = choose_ports(kafka.port_names, {})
    assert not kafka.is_usable(ports, java=Path("java"), waited=timedelta(0))
