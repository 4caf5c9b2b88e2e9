"""A directory whose change was begun and not ended starts no job."""

from __future__ import annotations

import pytest

from milepost.checkpoint.files import layout as names
from milepost.checkpoint.files import unfinished
from milepost.checkpoint.files.preflight import check_directory, require_job
from milepost.checkpoint.files.store import Store
from milepost.errors import PreflightError


def test_no_job_starts_between_begin_and_end(store: Store):
    unfinished.require_finished(store)
    unfinished.begin(store, "milepost adopt a.yaml")
    for check in (lambda: check_directory(store, job_name="a"), lambda: require_job(store, "a")):
        with pytest.raises(
            PreflightError, match=r"`milepost adopt a\.yaml` has not come to its end"
        ) as raised:
            check()
        assert "Run that command again" in raised.value.fix
    unfinished.end(store)
    check_directory(store, job_name="a")
    require_job(store, "a")


def test_a_mark_that_cannot_be_read_is_a_mark(store: Store):
    store.replace(names.UNFINISHED, b"{")
    with pytest.raises(PreflightError, match="is not whole"):
        unfinished.require_finished(store)


def test_who_has_begun_is_known(store: Store):
    assert unfinished.command(store) is None
    unfinished.begin(store, "milepost rollback a.yaml")
    assert unfinished.command(store) == "milepost rollback a.yaml"
