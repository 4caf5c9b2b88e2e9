"""A failpoint acts at its time and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from milepost.checkpoint.failpoint import VARIABLE, Failpoints
from milepost.errors import ConfigError

REACH_TWICE = """
from milepost.checkpoint.failpoint import reach
for time in (1, 2):
    reach("8-complete-before")
    print("passed", time, flush=True)
"""


def program(failpoints: str, code: str = REACH_TWICE, *, leads: bool = True) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {VARIABLE: failpoints},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=leads,
    )


@pytest.mark.parametrize(
    ("text", "names", "actions"),
    [
        ("", ["1-decide"], [None]),
        ("1-decide=kill", ["1-decide", "1-decide"], ["kill", None]),
        ("1-decide@2=stop", ["1-decide", "1-decide", "1-decide"], [None, "stop", None]),
        ("1-decide@2=stop", ["1-decide", "8-complete-after", "1-decide"], [None, None, "stop"]),
        (
            "1-decide=raise, 9-notify-before=kill",
            ["9-notify-before", "1-decide", "1-decide"],
            ["kill", "raise", None],
        ),
        ("1-decide=raise,1-decide@3=kill", ["1-decide"] * 3, ["raise", None, "kill"]),
    ],
)
def test_each_arrival_is_counted_by_itself(text: str, names: list[str], actions: list[str | None]):
    armed = Failpoints.parse(text)
    assert [armed.due(name) for name in names] == actions


@pytest.mark.parametrize(
    "text", ["1-decide", "1-decide=die", "1-decide@0=kill", "decide=kill", "1-decide=kill,2"]
)
def test_a_wrong_rule_is_told(text: str):
    with pytest.raises(ConfigError, match="6-seal-before@3=kill"):
        Failpoints.parse(text)


@pytest.mark.parametrize("leads", [True, False])
def test_kill_ends_the_process_without_a_word(leads: bool):
    with program("8-complete-before@2=kill", leads=leads) as driver:
        output, errors = driver.communicate(timeout=30)
    assert (driver.returncode, output, errors) == (-signal.SIGKILL, "passed 1\n", "")


def test_kill_takes_the_group_along():
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print(child.pid, flush=True)\n"
        "from milepost.checkpoint.failpoint import reach\n"
        "reach('8-complete-before')\n"
    )
    # The child holds the pipe of the output too: that it ends is that the child has ended.
    with program("8-complete-before=kill", code) as driver:
        output, _ = driver.communicate(timeout=30)
    assert driver.returncode == -signal.SIGKILL
    assert output.strip().isdigit()


def test_raise_is_an_error_of_ours():
    with program("8-complete-before=raise") as driver:
        output, errors = driver.communicate(timeout=30)
    assert (driver.returncode, output) == (1, "")
    assert "JobFailedError: Failpoint 8-complete-before was reached" in errors


def test_stop_stands_still_until_it_is_continued():
    with program("8-complete-before=stop") as driver:
        pid, status = os.waitpid(driver.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.kill(pid, signal.SIGCONT)
        output, _ = driver.communicate(timeout=30)
    assert (driver.returncode, output) == (0, "passed 1\npassed 2\n")


def test_without_the_variable_nothing_happens():
    with program("") as driver:
        output, _ = driver.communicate(timeout=30)
    assert (driver.returncode, output) == (0, "passed 1\npassed 2\n")
