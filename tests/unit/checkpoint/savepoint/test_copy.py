"""Files read piece by piece."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

from milepost.checkpoint.savepoint import copy
from milepost.checkpoint.savepoint.manifest import SavedFile
from milepost.checkpoint.store.store import LocalStore, Store


def test_sums_and_copies_are_of_the_whole_file(tmp_path: Path):
    data = os.urandom(3 * 1024 * 1024 + 17)
    source, target = LocalStore(tmp_path / "a"), Store.at("memory://copying")
    source.replace("state/x", data)
    expected = SavedFile(len(data), hashlib.sha256(data).hexdigest())
    assert copy.checksum(source, "state/x") == expected
    assert copy.checksum_durably(source, "state/x") == expected
    assert copy.copy_file(source, "state/x", target, "b/y") == expected
    assert target.read("b/y") == data


def test_a_thread_that_steps_back_leaves_the_others_alone():
    found = []

    def run() -> None:
        copy.lower_priority()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0] > os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
