"""Ids in paths and bodies, and the job they mean."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from pydantic import ValidationError

from milepost.rest.flink.checkpoints import CheckpointTriggerRequestBody
from milepost.rest.server.parameters import find_operation
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.operations import Kind, Operations


@pytest.mark.parametrize("given", ["", "A" * 32, "a" * 31, "a" * 33, "a" * 32 + "\n", "../" + "a" * 29])
def test_an_id_is_32_hex_digits(given: str):
    with pytest.raises(ValidationError):
        CheckpointTriggerRequestBody(triggerId=given)


def test_an_operation_is_found_or_not():
    operations = Operations()
    future: Future = Future()
    operations.start(Kind.DISPOSAL, "a" * 32, lambda: future)
    assert find_operation(operations, Kind.DISPOSAL, "a" * 32, "") is future
    with pytest.raises(Refusal, match=r"no savepoint disposal operation with triggerId=b{32}\."):
        find_operation(operations, Kind.DISPOSAL, "b" * 32, "")
