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
from milepost.checkpoint.store.layout import EPOCHS, LEASE
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import FencedError, LeaseHeldError

HOLDER = """
import sys
from pathlib import Path
from milepost.checkpoint.store.store import LocalStore
from milepost.checkpoint.lease.lease import Lease, holder
lease = Lease.acquire(LocalStore(Path(sys.argv[1])), "theirs")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "orders")


def test_the_holder_is_written_down(store: LocalStore):
    lease = Lease.acquire(store, "mine")
    owner = json.loads(store.path(LEASE).read_text())
    assert (owner["format"], owner["job-id"], owner["pid"], owner["epoch"]) == (1, "mine", os.getpid(), 1)
    lease.release()


def test_a_second_driver_is_refused_with_who_holds_it(store: LocalStore):
    lease = Lease.acquire(store, "mine")
    with pytest.raises(LeaseHeldError, match=f"process {os.getpid()} on .*, job mine") as raised:
        Lease.acquire(store, "other")
    assert raised.value.exit_code == 3
    lease.release()


def test_it_can_be_taken_again_after_it_was_released(store: LocalStore):
    first = Lease.acquire(store, "a longer name than the next")
    first.release()
    first.release()
    second = Lease.acquire(store, "next")
    assert json.loads(store.path(LEASE).read_text())["job-id"] == "next"
    second.release()


def test_a_killed_driver_holds_nothing(store: LocalStore):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LeaseHeldError, match=f"process {holder.pid} .*job theirs"):
            Lease.acquire(store, "mine")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        Lease.acquire(store, "mine").release()
    finally:
        holder.kill()
        holder.communicate()


def test_a_holder_that_has_not_written_its_name_is_still_the_holder(store: LocalStore):
    lease = Lease.acquire(store, "mine")
    store.path(LEASE).write_text("")
    with pytest.raises(LeaseHeldError, match="not written its name yet"):
        Lease.acquire(store, "other")
    lease.release()


def test_each_lease_has_a_newer_epoch(store: LocalStore):
    epochs = []
    for _ in range(3):
        lease = Lease.acquire(store, "mine")
        lease.verify()
        epochs.append(lease.epoch)
        lease.release()
    assert epochs == [1, 2, 3]
    assert [path.name for path in (store.root / EPOCHS).iterdir()] == ["3"]


def test_a_refused_driver_begins_no_epoch(store: LocalStore):
    lease = Lease.acquire(store, "mine")
    with pytest.raises(LeaseHeldError):
        Lease.acquire(store, "other")
    lease.verify()
    lease.release()


def test_a_driver_whose_lease_file_was_deleted_is_fenced(store: LocalStore):
    paused = Lease.acquire(store, "paused")
    store.path(LEASE).unlink()
    second = Lease.acquire(store, "second")
    with pytest.raises(FencedError, match=f"process {os.getpid()} on .*, job second"):
        paused.verify()
    second.verify()
    paused.release()
    second.verify()
    second.release()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_has_heartbeats(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, number: int
):
    def no_locks(file: object, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    lease = Lease.acquire(store, "mine")
    assert isinstance(lease, HeartbeatLease)
    with pytest.raises(LeaseHeldError, match="job mine"):
        Lease.acquire(store, "other")
    lease.release()
    Lease.acquire(store, "other").release()


def test_any_other_trouble_with_the_file_is_told(store: LocalStore):
    store.path(LEASE).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        Lease.acquire(store, "mine")


def test_another_file_system_has_heartbeats():
    store = Store.at("memory://test-lease")
    lease = Lease.acquire(store, "mine")
    try:
        assert isinstance(lease, HeartbeatLease)
        lease.verify()
    finally:
        lease.release()
        store.delete_folder("")


def test_a_live_holder_is_seen_from_outside_and_a_released_lease_is_free(store: LocalStore):
    assert holder(store) is None, "there is no directory yet"
    lease = Lease.acquire(store, "mine")
    assert f"process {os.getpid()} on " in (holder(store) or "")
    lease.release()
    assert holder(store) is None
