"""The offsets of a partition as JSON, and back."""

from __future__ import annotations

import pytest

from milepost.inspect.offsets import NOT_STALE, PartitionOffsets, Stale
from milepost.inspect.retention import Standing, Verdict
from milepost.rest.milepost.partition_json import partition_from_json, partition_to_json


def part(verdict: Verdict, stale: Stale = NOT_STALE) -> PartitionOffsets:
    return PartitionOffsets(
        topic="t", partition=3, checkpoint=10, group=12, earliest=5, latest=30, verdict=verdict, stale=stale
    )


@pytest.mark.parametrize(
    "offsets",
    [
        part(Verdict(Standing.RESTORABLE, 500)),
        part(Verdict(Standing.CAUGHT_UP, 300)),
        part(Verdict(Standing.UNRESTORABLE, note="gone"), Stale(checkpoint=True, group=True)),
    ],
)
def test_a_partition_is_read_back_as_it_was_written(offsets: PartitionOffsets):
    assert partition_from_json(partition_to_json(offsets)) == offsets


def test_an_answer_of_an_older_job_says_nothing_of_deleted_topics():
    document = partition_to_json(part(Verdict(Standing.RESTORABLE)))
    del document["stale"]
    assert partition_from_json(document).stale == NOT_STALE
