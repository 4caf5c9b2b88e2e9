"""A broker that is not there is told, and not waited for for ever."""

from __future__ import annotations

import pytest

from milepost.demo import group
from milepost.demo.group import Group
from milepost.errors import NotReachableError


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_TIMEOUT_S", 0.2)


def test_offsets_that_cannot_be_read() -> None:
    with pytest.raises(NotReachableError, match="group g cannot be read"):
        Group("127.0.0.1:1", "g").committed()


def test_a_group_that_cannot_be_deleted() -> None:
    with pytest.raises(NotReachableError, match="group g cannot be deleted"):
        Group("127.0.0.1:1", "g").delete()
