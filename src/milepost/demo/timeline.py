"""The timeline of one checkpoint: its events, the duration of snapshots, and events out of order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

LEAST_RATIO, GREATEST_RATIO = 1.6, 2.4
"""Limits of the duration of chained snapshots, divided by that of keyed ones, with two equally slow participants."""

_BAR_WIDTH = 48


class EventKind(Enum):
    """A kind of event, in the order of a checkpoint."""

    SEND = "send"
    TRIGGER = "trigger"
    RECEIVE = "receive"
    ACKNOWLEDGE = "acknowledge"
    SNAPSHOT_BEGIN = "snapshot begin"
    SNAPSHOT_END = "snapshot end"
    COMPLETE = "complete"
    NOTIFY = "notify"


class Arrangement(Enum):
    """How the two participants are arranged in chains."""

    CHAINED = "participants=[[a, b]]"
    KEYED = "participants=[a, b]"


@dataclass(frozen=True, slots=True, order=True)
class TimelineEvent:
    """One observed event: its wall-clock time in seconds, its lane, its kind and its checkpoint."""

    at: float
    lane: str
    kind: EventKind
    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class Span:
    """The snapshot of one participant."""

    lane: str
    begin: float
    end: float


def spans(events: Iterable[TimelineEvent]) -> list[Span]:
    """Return the snapshots of one checkpoint, ordered by begin; a snapshot without an end is omitted."""
    ordered = sorted(events, key=_order)
    ends = {event.lane: event.at for event in ordered if event.kind is EventKind.SNAPSHOT_END}
    begins = [event for event in ordered if event.kind is EventKind.SNAPSHOT_BEGIN]
    return [Span(begin.lane, begin.at, ends[begin.lane]) for begin in begins if begin.lane in ends]


def snapshot_phase(events: Iterable[TimelineEvent]) -> float:
    """Return the seconds from the first begin of a snapshot to the last end; 0 without snapshots."""
    found = spans(events)
    return max(span.end for span in found) - min(span.begin for span in found) if found else 0.0


def order_faults(events: Sequence[TimelineEvent], arrangement: Arrangement) -> list[str]:
    """Return a sentence for each event that is not in the order of the arrangement."""
    found = spans(events)
    if len(found) != 2:
        return [f"{len(found)} participants took a snapshot, not 2"]
    first, second = found
    faults = []
    if arrangement is Arrangement.CHAINED and second.begin < first.end:
        faults.append(f"chained, but {second.lane} began before {first.lane} had ended")
    if arrangement is Arrangement.KEYED and second.begin >= first.end:
        faults.append(f"keyed, but {second.lane} began only after {first.lane} had ended")
    return faults + _boundary_faults(events, last_end=max(first.end, second.end))


def _boundary_faults(events: Sequence[TimelineEvent], *, last_end: float) -> list[str]:
    """Return the faults unless the checkpoint completed after every snapshot and all notifications came later."""
    completed = [event.at for event in events if event.kind is EventKind.COMPLETE]
    notified = [event for event in events if event.kind is EventKind.NOTIFY]
    if not completed:
        return ["the completion of the checkpoint was not observed"]
    faults = []
    if min(completed) < last_end:
        faults.append("the checkpoint was complete before every snapshot had ended")
    if {event.lane for event in notified} != {span.lane for span in spans(events)}:
        faults.append("not every participant with a snapshot was notified of the completion")
    faults += [
        f"{each.lane} was notified before every snapshot had ended" for each in notified if each.at < last_end
    ]
    faults += [
        f"{each.lane} was notified before the checkpoint was complete"
        for each in notified
        if each.at < max(completed)
    ]
    return faults


def ratio_faults(chained: float, keyed: float) -> list[str]:
    """Return a fault unless the chained snapshot phase took about twice as long as the keyed one."""
    if keyed <= 0:
        return ["the keyed snapshots took no time, so they cannot be compared"]
    ratio = chained / keyed
    if LEAST_RATIO <= ratio <= GREATEST_RATIO:
        return []
    return [
        f"chained took {ratio:.2f} times as long as keyed, not between {LEAST_RATIO} and {GREATEST_RATIO} times"
    ]


def render(events: Sequence[TimelineEvent]) -> list[str]:
    """Return the events as text, each with the seconds since the first, and the snapshots as bars."""
    if not events:
        return []
    ordered = sorted(events, key=_order)
    width = max(len(event.lane) for event in ordered)
    began = ordered[0].at
    lines = [f"{event.at - began:8.3f} s  {event.lane:<{width}}  {event.kind.value}" for event in ordered]
    return lines + _bars(spans(ordered), width)


def _bars(found: Sequence[Span], width: int) -> list[str]:
    if not found:
        return []
    began = min(span.begin for span in found)
    scale = _BAR_WIDTH / max(max(span.end for span in found) - began, 1e-9)
    lines = []
    for span in found:
        left, right = round((span.begin - began) * scale), round((span.end - began) * scale)
        bar = " " * left + "#" * max(right - left, 1)
        lines.append(
            f"{'':12}{span.lane:<{width}}  |{bar[:_BAR_WIDTH]:<{_BAR_WIDTH}}| {span.end - span.begin:.1f} s"
        )
    return lines


def _order(event: TimelineEvent) -> tuple[float, int, str]:
    """Sort by time, then by the order of a checkpoint."""
    return event.at, list(EventKind).index(event.kind), event.lane
