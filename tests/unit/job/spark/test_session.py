from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from milepost.engine import BareJvm, java_map
from milepost.errors import PreflightError
from milepost.job.spark import session as session_module
from milepost.job.spark.hardening import KAFKA_FLAGS
from milepost.job.spark.session import _spark_home, _with_scratch, spark_conf

LOG = Path("/with space/driver.log")


@pytest.fixture(autouse=True)
def no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drivers of the tests have options of their own in the environment."""
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)


def test_a_local_driver_keeps_to_loopback_and_shows_no_interface_of_its_own():
    conf = spark_conf("local[2]", {}, LOG)
    assert conf["spark.driver.host"] == conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert conf["spark.ui.enabled"] == "false"
    assert conf["spark.ui.killEnabled"] == "false"
    assert "spark.jars" not in conf


@pytest.mark.parametrize("side", ["driver", "executor"])
def test_kafkas_client_has_its_flags_and_the_user_the_last_word(side: str):
    key = f"spark.{side}.extraJavaOptions"
    options = spark_conf("local-cluster[1,1,512]", {key: "-Dx=y"}, LOG)[key]
    assert all(flag in options.split() for flag in KAFKA_FLAGS)
    assert options.endswith(" -Dx=y")


def test_settings_that_open_a_door_are_refused():
    with pytest.raises(PreflightError, match="killEnabled"):
        spark_conf("local", {"spark.ui.enabled": "true", "spark.ui.killEnabled": "true"}, LOG)


def test_the_engine_is_on_the_class_path_and_the_log_is_a_file():
    conf = spark_conf("local[2]", {}, LOG)
    assert "milepost-engine.jar" in conf["spark.driver.extraClassPath"]
    assert f'-Dmilepost.log="{LOG}"' in conf["spark.driver.extraJavaOptions"]


def test_a_cluster_fetches_the_jars_from_the_driver():
    conf = spark_conf("spark://host:7077", {}, LOG)
    assert "milepost-engine.jar" in conf["spark.jars"]
    assert "spark.driver.host" not in conf


def test_a_local_cluster_begins_with_all_its_cores():
    conf = spark_conf("local-cluster[2, 3, 1024]", {}, LOG)
    assert conf["spark.cores.max"] == "6"
    assert conf["spark.scheduler.minRegisteredResourcesRatio"] == "1.0"
    assert "milepost-engine.jar" in conf["spark.jars"]
    assert conf["spark.driver.host"] == "127.0.0.1"


def test_the_executors_of_a_local_cluster_leave_nothing_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_HOME", "/elsewhere")
    installed = tmp_path / "installed"
    monkeypatch.setattr("milepost.job.spark.session._find_spark_home", lambda: str(installed))
    for name in ("jars", "bin", "work"):
        (installed / name).mkdir(parents=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with _spark_home(scratch):
        home = Path(os.environ["SPARK_HOME"])
        assert home.is_relative_to(scratch)
        assert (home / "jars").resolve() == installed / "jars"
        assert not (home / "work").exists()
    assert os.environ["SPARK_HOME"] == "/elsewhere"


def test_the_users_settings_win_over_defaults():
    conf = spark_conf("local", {"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Dx=y"}, LOG)
    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.driver.extraJavaOptions"].endswith("-Dx=y")


def test_the_drivers_collector_is_the_parallel_one_unless_the_user_names_another():
    assert "-XX:+UseParallelGC" in spark_conf("local", {}, LOG)["spark.driver.extraJavaOptions"].split()
    # A JVM with two collectors does not start.
    chosen = spark_conf("local", {"spark.driver.extraJavaOptions": "-Dx=y -XX:+UseZGC"}, LOG)
    assert "-XX:+UseParallelGC" not in chosen["spark.driver.extraJavaOptions"]


def test_what_the_jvm_puts_on_disk_is_in_one_folder():
    conf = _with_scratch(spark_conf("local", {}, LOG), Path("/scratch"))
    assert conf["spark.local.dir"] == "/scratch"
    assert '-Djava.io.tmpdir="/scratch"' in conf["spark.driver.extraJavaOptions"]


def test_the_users_local_directory_wins():
    conf = _with_scratch(spark_conf("local", {"spark.local.dir": "/fast"}, LOG), Path("/scratch"))
    assert conf["spark.local.dir"] == "/fast"


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"])
def test_a_collector_that_the_environment_names_is_the_users_too(
    variable: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(variable, "-Dx=y -XX:+UseSerialGC")
    assert "-XX:+UseParallelGC" not in spark_conf("local", {}, LOG)["spark.driver.extraJavaOptions"]


def test_a_session_for_reading_back_has_our_jars_and_its_log_in_the_temp_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[tuple[str, dict[str, str], Path]] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session_module, "open_session", lambda *parts: opened.append(parts))
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    session_module.spark_session("reader", master="local[1]", conf={"spark.sql.shuffle.partitions": "2"})
    ((name, conf, log),) = opened
    assert (name, log) == ("reader", tmp_path / "milepost" / "reader.log")
    assert (conf["spark.master"], conf["spark.sql.shuffle.partitions"]) == ("local[1]", "2")
    assert "milepost-engine.jar" in conf["spark.driver.extraClassPath"]


def test_what_is_refused_before_the_session_ends_the_jvm_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[object] = []

    def refuse(jvm: BareJvm) -> None:
        seen.append(java_map(jvm, {"a": "b"}))
        raise PreflightError("Table 't' does not exist")

    gateway = SimpleNamespace(jvm=SimpleNamespace(java=SimpleNamespace(util=SimpleNamespace(HashMap=Puts))))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session_module, "launch_gateway", lambda *_: gateway)
    monkeypatch.setattr(session_module, "_end_jvm", seen.append)
    # Tests of the same worker may have a session of their own, which is none of this test's business.
    none = SimpleNamespace(_active_spark_context=None, _gateway=None)
    monkeypatch.setattr(session_module, "SparkContext", none)
    log = tmp_path / "driver.log"
    # A context would need a real gateway: that none is made is what lets this pass.
    with (
        pytest.raises(PreflightError, match="Table 't' does not exist"),
        session_module.session("job", spark_conf("local[1]", {}, log), log, refuse),
    ):
        pass
    assert seen == [Puts({"a": "b"}), gateway]
    assert list(tmp_path.glob("milepost-driver-*")) == []


class Puts(dict[str, str]):
    """As java.util.HashMap."""

    def put(self, key: str, value: str) -> None:
        self[key] = value
