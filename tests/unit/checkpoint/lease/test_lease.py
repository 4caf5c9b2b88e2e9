from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from milepost.checkpoint.lease.heartbeat import HeartbeatLease
from milepost.checkpoint.lease.lease import Lease, holder
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError, LeaseHeldError

HOLDER = """
import sys
from pathlib import Path
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.lease.lease import Lease, holder
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
    assert (owner["format"], owner["job-id"], owner["pid"], owner["epoch"]) == (1, "mine", os.getpid(), 1)
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


def test_each_lease_has_a_newer_epoch(layout: Layout):
    epochs = []
    for _ in range(3):
        lease = Lease.acquire(layout, "mine")
        lease.verify()
        epochs.append(lease.epoch)
        lease.release()
    assert epochs == [1, 2, 3]
    assert [path.name for path in (layout.ours / "epochs").iterdir()] == ["3"]


def test_a_refused_driver_begins_no_epoch(layout: Layout):
    lease = Lease.acquire(layout, "mine")
    with pytest.raises(LeaseHeldError):
        Lease.acquire(layout, "other")
    lease.verify()
    lease.release()


def test_a_driver_whose_lease_file_was_deleted_is_fenced(layout: Layout):
    paused = Lease.acquire(layout, "paused")
    layout.lease.unlink()
    second = Lease.acquire(layout, "second")
    with pytest.raises(FencedError, match=f"process {os.getpid()} on .*, job second"):
        paused.verify()
    second.verify()
    paused.release()
    second.verify()
    second.release()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_has_heartbeats(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, number: int
):
    def no_locks(file: object, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    lease = Lease.acquire(layout, "mine")
    assert isinstance(lease, HeartbeatLease)
    with pytest.raises(LeaseHeldError, match="job mine"):
        Lease.acquire(layout, "other")
    lease.release()
    Lease.acquire(layout, "other").release()


def test_any_other_trouble_with_the_file_is_told(layout: Layout):
    layout.lease.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        Lease.acquire(layout, "mine")


def test_another_file_system_has_heartbeats():
    store = Store.at("memory://test-lease")
    lease = Lease.acquire(store, "mine")
    try:
        assert isinstance(lease, HeartbeatLease)
        lease.verify()
    finally:
        lease.release()
        store.delete_folder("")


def test_a_live_holder_is_seen_from_outside_and_a_released_lease_is_free(layout: Layout):
    assert holder(layout) is None, "there is no directory yet"
    lease = Lease.acquire(layout, "mine")
    assert f"process {os.getpid()} on " in (holder(layout) or "")
    lease.release()
    assert holder(layout) is None
