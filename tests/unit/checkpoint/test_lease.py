from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from milepost.checkpoint.layout import Layout
from milepost.checkpoint.lease import Lease
from milepost.errors import LeaseHeldError

HOLDER = """
import sys
from pathlib import Path
from milepost.checkpoint.layout import Layout
from milepost.checkpoint.lease import Lease
lease = Lease.acquire(Layout(Path(sys.argv[1])), "theirs")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "orders")


def test_the_holder_is_written_down(layout: Layout):
    lease = Lease.acquire(layout, "mine")
    owner = json.loads(layout.lease.read_text())
    assert (owner["format"], owner["job-id"], owner["pid"]) == (1, "mine", os.getpid())
    lease.release()


def test_a_second_driver_is_refused_with_who_holds_it(layout: Layout):
    lease = Lease.acquire(layout, "mine")
    with pytest.raises(LeaseHeldError, match=f"process {os.getpid()} on .*, job mine") as raised:
        Lease.acquire(layout, "other")
    assert raised.value.exit_code == 3
    lease.release()


def test_it_can_be_taken_again_after_it_was_released(layout: Layout):
    first = Lease.acquire(layout, "a longer name than the next")
    first.release()
    first.release()
    second = Lease.acquire(layout, "next")
    assert json.loads(layout.lease.read_text())["job-id"] == "next"
    second.release()


def test_a_killed_driver_holds_nothing(layout: Layout):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(layout.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LeaseHeldError, match=f"process {holder.pid} .*job theirs"):
            Lease.acquire(layout, "mine")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        Lease.acquire(layout, "mine").release()
    finally:
        holder.kill()
        holder.communicate()


def test_a_holder_that_has_not_written_its_name_is_still_the_holder(layout: Layout):
    lease = Lease.acquire(layout, "mine")
    layout.lease.write_text("")
    with pytest.raises(LeaseHeldError, match="not written its name yet"):
        Lease.acquire(layout, "other")
    lease.release()
