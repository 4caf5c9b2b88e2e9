"""A time line is judged and drawn from its moments alone."""

from __future__ import annotations

import pytest

from milepost.demo.timeline import (
    Arrangement,
    EventKind,
    Span,
    TimelineEvent,
    order_faults,
    ratio_faults,
    render,
    snapshot_phase,
    spans,
)

BEGIN, END, COMPLETE, NOTIFY = (
    EventKind.SNAPSHOT_BEGIN,
    EventKind.SNAPSHOT_END,
    EventKind.COMPLETE,
    EventKind.NOTIFY,
)
CHAINED, KEYED = Arrangement.CHAINED, Arrangement.KEYED


def events(
    a: tuple[float, float], b: tuple[float, float], complete: float, told: tuple[float, float]
) -> list[TimelineEvent]:
    return [
        TimelineEvent(a[0], "a", BEGIN, 1),
        TimelineEvent(a[1], "a", END, 1),
        TimelineEvent(b[0], "b", BEGIN, 1),
        TimelineEvent(b[1], "b", END, 1),
        TimelineEvent(complete, "coordinator", COMPLETE, 1),
        TimelineEvent(told[0], "a", NOTIFY, 1),
        TimelineEvent(told[1], "b", NOTIFY, 1),
    ]


ONE_AFTER_THE_OTHER = events((0, 10), (10, 20), 21, (22, 22))
SIDE_BY_SIDE = events((0, 10), (0.1, 10.1), 11, (12, 12))


@pytest.mark.parametrize(
    ("given", "arrangement", "faults"),
    [
        (ONE_AFTER_THE_OTHER, CHAINED, []),
        (SIDE_BY_SIDE, KEYED, []),
        (ONE_AFTER_THE_OTHER, KEYED, ["keyed, but b began only after a had ended"]),
        (SIDE_BY_SIDE, CHAINED, ["chained, but b began before a had ended"]),
        (
            events((0, 10), (0, 10), 5, (12, 12)),
            KEYED,
            ["the checkpoint was complete before every snapshot had ended"],
        ),
        (
            events((0, 10), (0, 10), 11, (10.5, 12)),
            KEYED,
            ["a was notified before the checkpoint was complete"],
        ),
        (
            events((0, 10), (0, 10), 11, (12, 9)),
            KEYED,
            [
                "b was notified before every snapshot had ended",
                "b was notified before the checkpoint was complete",
            ],
        ),
        (
            SIDE_BY_SIDE[:-1],
            KEYED,
            ["not every participant with a snapshot was notified of the completion"],
        ),
        (
            [m for m in SIDE_BY_SIDE if m.kind is not COMPLETE],
            KEYED,
            ["the completion of the checkpoint was not observed"],
        ),
        (ONE_AFTER_THE_OTHER[:2], CHAINED, ["1 participants took a snapshot, not 2"]),
        ([], CHAINED, ["0 participants took a snapshot, not 2"]),
    ],
)
def test_what_comes_too_early_or_never_is_a_fault(
    given: list[TimelineEvent], arrangement: Arrangement, faults: list[str]
) -> None:
    assert order_faults(given, arrangement) == faults


@pytest.mark.parametrize(
    ("chained", "keyed", "is_fine"),
    [(20, 10, True), (16, 10, True), (24, 10, True), (15.9, 10, False), (24.1, 10, False), (10, 10, False)],
)
def test_two_snapshots_take_twice_as_long_in_one_chain(chained: float, keyed: float, is_fine: bool) -> None:
    assert (ratio_faults(chained, keyed) == []) is is_fine


def test_without_time_there_is_no_ratio() -> None:
    assert ratio_faults(20, 0) == ["the keyed snapshots took no time, so they cannot be compared"]


@pytest.mark.parametrize(
    ("given", "seconds"), [(ONE_AFTER_THE_OTHER, 20), (SIDE_BY_SIDE, 10.1), ([], 0), (SIDE_BY_SIDE[:1], 0)]
)
def test_the_phase_is_from_the_first_begin_to_the_last_end(
    given: list[TimelineEvent], seconds: float
) -> None:
    assert snapshot_phase(given) == pytest.approx(seconds)


def test_spans_come_in_the_order_of_their_begins_and_need_an_end() -> None:
    given = [TimelineEvent(3, "b", END, 1), TimelineEvent(2, "a", BEGIN, 1), TimelineEvent(1, "b", BEGIN, 1)]
    assert spans(given) == [Span("b", 1, 3)]
    assert spans([*given, TimelineEvent(4, "a", END, 1)]) == [Span("b", 1, 3), Span("a", 2, 4)]


def test_a_time_line_is_drawn_in_order_with_the_snapshots_as_bars() -> None:
    given = [
        TimelineEvent(100.5, "producer", EventKind.SEND, 1),
        *events((101, 102), (102, 103), 103.25, (103.5, 103.5)),
    ]
    assert render(given[::-1]) == [
        "   0.000 s  producer     send",
        "   0.500 s  a            snapshot begin",
        # In the order of a checkpoint, where two moments are the same.
        "   1.500 s  b            snapshot begin",
        "   1.500 s  a            snapshot end",
        "   2.500 s  b            snapshot end",
        "   2.750 s  coordinator  complete",
        "   3.000 s  a            notify",
        "   3.000 s  b            notify",
        "            a            |" + "#" * 24 + " " * 24 + "| 1.0 s",
        "            b            |" + " " * 24 + "#" * 24 + "| 1.0 s",
    ]


def test_nothing_is_drawn_of_nothing() -> None:
    assert render([]) == []
