"""What the shells are told on Tab, in the words of each."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import LeftBehind
from tests.unit.rest.asgi import JOB, Server
from typer.testing import CliRunner

from milepost.cli import app
from milepost.cli.argument import completion
from milepost.config import Rest
from milepost.rest.server.server import Listener, serve_job

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[None]:
    """A running job of that name."""
    server = Server(tmp_path / "job")
    with Listener.open(Rest(bind="127.0.0.1:0")) as listener, serve_job(listener, server.job, server.config):
        yield


def offered(shell: str, line: str) -> str:
    """Return what the shell's script would be told for the line, the cursor at its end."""
    words = line.split(" ")
    environment = {
        "_MILEPOST_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return CliRunner().invoke(app, [], prog_name="milepost", env=environment).output


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_those_below_them(shell: str) -> None:
    said = offered(shell, "milepost sa")
    assert "savepoint" in said
    assert "status" not in said
    assert "repartition" in offered(shell, "milepost savepoint re")
    assert "--from-savepoint" in offered(shell, "milepost run --from")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", ["status", "stop", "savepoint create", "checkpoint list", "state"])
def test_running_jobs(orders: None, shell: str, command: str) -> None:
    assert "orders" in offered(shell, f"milepost {command} or")
    assert "orders" not in offered(shell, f"milepost {command} x")
    assert JOB in offered(shell, f"milepost {command} {JOB[:4]}")


def test_the_shell_offers_files_where_nothing_is_said() -> None:
    for command in ("run", "check", "status"):
        assert offered("bash", f"milepost {command} ./x").strip() == ""
        assert offered("zsh", f"milepost {command} ./x").strip() == "_files"


def test_the_checkpoints_of_the_job_that_is_named(tmp_path: Path) -> None:
    left = LeftBehind(tmp_path / "job")
    left.take_many(12)
    assert offered("bash", f"milepost checkpoint show {left.root} 1").split() == ["11", "10", "1"]
    assert "9" in offered("bash", f"milepost checkpoint diff {left.root} ").split()
    assert offered("bash", f"milepost checkpoint show {tmp_path / 'none'} 1").strip() == ""


def test_a_registry_that_cannot_be_trusted_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / f"milepost-{getpass.getuser()}").symlink_to("/nowhere")
    assert completion.jobs("") == []


def test_claim_modes() -> None:
    assert offered("bash", "milepost run x.yaml --claim-mode n").split() == ["no-claim"]


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    environment = {"_MILEPOST_COMPLETE": f"source_{shell}"}
    said = CliRunner().invoke(app, [], prog_name="milepost", env=environment).output
    assert "_MILEPOST_COMPLETE=complete_" + shell in said


def test_bash_itself_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    script = """
eval "$(milepost --show-completion)"
COMP_WORDS=(milepost check); COMP_CWORD=1
_milepost_completion milepost
printf '%s\\n' "${COMPREPLY[@]}"
"""
    # By its name on the PATH, as it is typed: the folder it lies in may have a space in its name.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    said = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert said.stdout.split() == ["check", "checkpoint"]
