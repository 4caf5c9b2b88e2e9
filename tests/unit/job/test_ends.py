from __future__ import annotations

import threading

from milepost.checkpoint.model import Offsets
from milepost.job.ends import EndOffsets


def test_the_ends_are_asked_again_and_again_and_an_outage_is_no_error():
    answers: list[Offsets | None] = [{"t": {0: 1}}, None, {"t": {0: 2}}]
    asked = [threading.Event() for _ in answers]
    seen: list[Offsets | None] = []
    ends: EndOffsets

    def ask() -> Offsets:
        seen.append(ends.latest)
        number = len(seen) - 1
        if number >= len(answers):
            asked[-1].set()
            raise RuntimeError("asked more often than there are answers")
        answer = answers[number]
        if answer is None:
            raise RuntimeError("the broker is away")
        return answer

    ends = EndOffsets(ask, every=0.001)
    with ends:
        assert asked[-1].wait(timeout=10)
    assert seen[:4] == [None, {"t": {0: 1}}, None, {"t": {0: 2}}]
