"""A directory whose change was begun and not ended starts no job."""

from __future__ import annotations

import pytest

from milepost.checkpoint.recovery import marker
from milepost.checkpoint.recovery.preflight import check_directory, require_job
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError


def test_no_job_starts_between_begin_and_end(store: Store):
    marker.require_finished(store)
    marker.begin(store, "milepost adopt a.yaml")
    for check in (lambda: check_directory(store, job_name="a"), lambda: require_job(store, "a")):
        with pytest.raises(PreflightError, match=r"`milepost adopt a\.yaml` did not finish") as raised:
            check()
        assert "Run that command again" in raised.value.fix
    marker.end(store)
    check_directory(store, job_name="a")
    require_job(store, "a")


def test_a_mark_that_cannot_be_read_is_a_mark(store: Store):
    store.replace(names.UNFINISHED, b"{")
    with pytest.raises(PreflightError, match="is incomplete"):
        marker.require_finished(store)


def test_who_has_begun_is_known(store: Store):
    assert marker.command(store) is None
    marker.begin(store, "milepost rollback a.yaml")
    assert marker.command(store) == "milepost rollback a.yaml"
