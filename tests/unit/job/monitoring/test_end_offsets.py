from __future__ import annotations

import threading

from milepost.checkpoint.model import Offsets
from milepost.job.monitoring.end_offsets import EndOffsets


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


def test_the_end_does_not_wait_for_a_broker_that_is_away():
    answered = threading.Event()

    def ask() -> Offsets:
        answered.wait(timeout=10)
        return {}

    ends = EndOffsets(ask, every=10, linger=0.01)
    with ends:
        pass
    assert ends._thread.is_alive()
    answered.set()
    ends._thread.join(timeout=10)
    assert not ends._thread.is_alive()
