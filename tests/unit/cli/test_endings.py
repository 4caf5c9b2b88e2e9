"""How a command ends: its exit code by the table, its sentence on stderr, and quietly where nobody reads on."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import LeftBehind
from tests.unit.rest.asgi import Server

from milepost import cli
from milepost.config import Rest
from milepost.rest.server.server import Address, Listener, serve_job

MILEPOST = [sys.executable, "-m", "milepost"]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = Server(tmp_path / "job")
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_job(listener, server.job, server.config) as address,
    ):
        yield address


def milepost(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MILEPOST, *words], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["chekpoint"], 2, "No such command"),
        (["run"], 2, "Missing argument"),
        (["list", "--yaml"], 2, "No such option"),
        (["checkpoint", "list", "x", "--limit", "many"], 2, "--limit"),
        (["check", "nowhere.yaml"], 2, "nowhere.yaml"),
        (["status", "nobody"], 3, "You have no running job"),
        (["checkpoint", "list", "/nowhere/at/all"], 3, "is not a job"),
    ],
)
def test_a_mistake_has_its_code_and_a_sentence_on_stderr(words: list[str], code: int, sentence: str) -> None:
    said = milepost(*words)
    assert said.returncode == code, said.stderr
    assert said.stdout == ""
    assert sentence in said.stderr
    assert "Traceback" not in said.stderr


def test_a_server_that_is_dead_is_not_reachable() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    said = milepost("status", f"http://127.0.0.1:{port}/?token=a-token-of-some-length")
    assert (said.returncode, said.stdout) == (3, "")
    assert "No job answers" in said.stderr


def test_a_wrong_token_is_bad_input_and_is_not_repeated(address: Address) -> None:
    said = milepost("status", f"{address.url}/?token=a-token-that-is-wrong")
    assert (said.returncode, said.stdout) == (2, "")
    assert "does not accept this token" in said.stderr
    assert "a-token-that-is-wrong" not in said.stderr


@pytest.mark.parametrize(
    "words", [["--help"], ["checkpoint", "list", "JOB"], ["checkpoint", "list", "JOB", "--json"]]
)
def test_a_reader_that_goes_away_is_no_error(words: list[str], tmp_path: Path) -> None:
    left = LeftBehind(tmp_path / "job").take_many(2000)
    named = [str(left.root) if word == "JOB" else word for word in words]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        said = subprocess.run([*MILEPOST, *named], stdout=closed, stderr=subprocess.PIPE, check=False)
    assert said.stderr == b""
    assert said.returncode in (0, 1)


@pytest.mark.parametrize("columns", ["20", "80", "400"])
def test_help_fits_narrow_and_wide_terminals(columns: str) -> None:
    said = milepost("--help", COLUMNS=columns, TERMINAL_WIDTH=columns)
    assert said.returncode == 0
    assert max(map(len, said.stdout.splitlines())) <= int(columns)


def test_no_colour_and_no_bar_where_it_is_not_a_terminal(tmp_path: Path) -> None:
    left = LeftBehind(tmp_path / "job").take_many(3)
    for words in (["--help"], ["checkpoint", "list", str(left.root)], ["status", "nobody"]):
        said = milepost(*words)
        assert "\x1b" not in said.stdout + said.stderr


def test_colours_are_off_by_the_variable_that_says_so() -> None:
    said = milepost("status", "nobody", NO_COLOR="1", FORCE_COLOR="1")
    assert "\x1b[3" not in said.stderr


@pytest.mark.parametrize(
    ("number", "code", "state"), [(errno.ENOSPC, 1, "is full"), (errno.EROFS, 2, "is read-only")]
)
def test_a_directory_that_takes_no_file_is_a_sentence(
    number: int,
    code: int,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number), "/data/orders/milepost/lease")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert f"The directory /data/orders {state}" in said
    assert "This is a bug in Milepost" not in said


def test_a_jvm_that_does_not_start_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "name: j\n"
        'source: {kafka: {bootstrap-servers: "127.0.0.1:1", topics: [t]}}\n'
        'sink: {hbase: {quorum: "127.0.0.1:1", table: t, row-key: [key], columns: {d: [value]}}}\n'
        f"checkpointing: {{dir: {tmp_path}/c}}\n"
    )
    said = milepost("run", str(file), JAVA_HOME="/nonexistent")
    assert said.returncode == 2, said.stderr
    assert "The driver's JVM did not start" in said.stderr
    assert "JAVA_GATEWAY_EXITED" not in said.stderr
    assert "This is a bug in Milepost" not in said.stderr
