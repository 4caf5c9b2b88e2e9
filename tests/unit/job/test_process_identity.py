"""A process is known by its pid and by when it was born."""

from __future__ import annotations

import os
import subprocess
import sys

from milepost.checkpoint.lease.epoch import is_alive
from milepost.job import process_identity


def test_a_process_keeps_its_birth_and_no_other_has_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        ours, theirs = process_identity.born(os.getpid()), process_identity.born(child.pid)
        assert ours
        assert theirs
        assert ours == process_identity.born(os.getpid())
        assert ours != theirs
    finally:
        child.communicate()
    assert process_identity.born(child.pid) is None
    assert not is_alive(child.pid)
    assert is_alive(os.getpid())


def test_ps_knows_it_too():
    assert process_identity._from_ps(os.getpid())
    assert process_identity._from_ps(os.getpid()) == process_identity._from_ps(os.getpid())
