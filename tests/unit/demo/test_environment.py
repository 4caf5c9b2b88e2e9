"""Processes are stopped, files are deleted, and differences are printed before the error is raised."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from milepost.config import Config, load_config
from milepost.demo import environment as environment_module
from milepost.demo.environment import (
    DemoEnvironment,
    DemoOptions,
    demo_environment,
    verify_table,
)
from milepost.errors import ServicesError, VerificationError
from milepost.services import Endpoints
from milepost.verify import Finding, Kind, Report

ENDPOINTS = Endpoints("127.0.0.1:1", "127.0.0.1:2")


class FakeServices:
    """Stands for a Kafka and an HBase; knows which are up."""

    up: ClassVar[list[Path]] = []
    found = ENDPOINTS

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def endpoints(self) -> Endpoints:
        return self.found

    def __enter__(self) -> Endpoints:
        self.up.append(self.directory)
        return ENDPOINTS

    def __exit__(self, *_: object) -> None:
        self.up.remove(self.directory)


@pytest.fixture(autouse=True)
def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeServices]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(environment_module, "Services", FakeServices)
    monkeypatch.setattr(FakeServices, "up", [])
    return FakeServices


def options(**changes: Any) -> tuple[DemoOptions, list[str], list[str]]:
    said: list[str] = []
    warned: list[str] = []
    return DemoOptions(say=said.append, warn=warned.append, **changes), said, warned


def test_services_run_during_the_demo_and_nothing_is_left(tmp_path: Path) -> None:
    demo, said, warned = options()
    with demo_environment(demo, "orders") as environment:
        assert FakeServices.up == [environment.folder / "services"]
        assert environment == DemoEnvironment(environment.folder, ENDPOINTS, "orders")
    assert FakeServices.up == []
    assert list(tmp_path.iterdir()) == []
    assert said[0].startswith("1. Starting")
    assert warned == []


def test_what_is_to_be_kept_is_kept(tmp_path: Path) -> None:
    demo, _, warned = options(keep=True)
    with demo_environment(demo, "orders") as environment:
        pass
    assert list(tmp_path.iterdir()) == [environment.folder]
    assert str(environment.folder) in warned[0]


@pytest.mark.parametrize(
    ("error", "is_kept"), [(ValueError, True), (KeyboardInterrupt, False), (SystemExit, False)]
)
def test_files_stay_after_a_failure_and_not_after_an_interruption(
    tmp_path: Path, error: type[BaseException], is_kept: bool
) -> None:
    demo, _, _ = options()
    with pytest.raises(error), demo_environment(demo, "orders"):
        raise error
    assert bool(list(tmp_path.iterdir())) is is_kept
    assert FakeServices.up == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    demo, _, _ = options()
    with pytest.raises(SystemExit) as ended, demo_environment(demo, "orders"):
        signal.raise_signal(number)
    assert ended.value.code == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) is before


def test_running_services_are_used_under_a_name_of_its_own(tmp_path: Path) -> None:
    demo, said, _ = options(services=tmp_path / "running")
    with demo_environment(demo, "orders") as first:
        assert FakeServices.up == []
        assert first.endpoints == ENDPOINTS
    with demo_environment(demo, "orders") as second:
        pass
    assert first.name.startswith("orders-")
    assert first.name != second.name
    assert str(tmp_path / "running") in said[0]


def test_services_that_do_not_run_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(FakeServices, "found", Endpoints("127.0.0.1:1", ""))
    demo, _, _ = options(services=tmp_path)
    with pytest.raises(ServicesError, match="are not both running"), demo_environment(demo, "orders"):
        pass


@pytest.fixture
def config(tmp_path: Path) -> Config:
    environment = DemoEnvironment(tmp_path, ENDPOINTS, "orders")
    return load_config(environment.write_pipeline("a", source={"start": "latest"}, interval="2s"))


def test_a_pipeline_reads_its_topic_into_its_table(tmp_path: Path, config: Config) -> None:
    source = config.views["source"]
    assert (source.topics, source.start, config.sink.hbase.table) == (("orders",), "latest", "orders")
    assert config.checkpointing.dir == str(DemoEnvironment(tmp_path, ENDPOINTS, "orders").layout.root)
    assert config.checkpointing.interval.total_seconds() == 2


def fake_verification(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    @contextmanager
    def no_session(*_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(environment_module, "session", no_session)
    monkeypatch.setattr(environment_module, "verify_pipeline", lambda *_, **__: report)


def test_a_table_that_equals_the_log_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: Config
) -> None:
    report = Report(records=9)
    fake_verification(monkeypatch, report)
    assert verify_table(DemoOptions(say=lambda _: None), config, tmp_path) is report


def test_differences_are_printed_with_examples_and_raised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: Config
) -> None:
    report = Report(records=9)
    report.add(Finding(Kind.MISSING, b"r", "d", b"q", "'a' @ 1", "nothing"))
    fake_verification(monkeypatch, report)
    demo, said, _ = options()
    with pytest.raises(VerificationError):
        verify_table(demo, config, tmp_path)
    assert any("MISSING row 'r' d:q" in line for line in said)
    assert said[-1] == "DIFFERENCES records=9 missing=1 extra=0 stale=0 duplicates=0"
