"""The moments of one checkpoint as a time line: what came when, how long snapshots took, what came too early. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

LEAST_RATIO, GREATEST_RATIO = 1.6, 2.4
"""Between these two lies what chained snapshots take, divided by what keyed ones take, where two are equally slow."""

_BAR_WIDTH = 48


class What(Enum):
    """What may happen at a moment, in the order of a checkpoint."""

    SEND = "send"
    TRIGGER = "trigger"
    RECEIVE = "receive"
    ACKNOWLEDGE = "acknowledge"
    SNAPSHOT_BEGIN = "snapshot begin"
    SNAPSHOT_END = "snapshot end"
    COMPLETE = "complete"
    NOTIFY = "notify"


class Arrangement(Enum):
    """How two participants stand to each other."""

    CHAINED = "participants=[[a, b]]"
    KEYED = "participants=[a, b]"


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """One thing that was seen to happen: when, in seconds on the wall's clock, to whom, and of which checkpoint."""

    at: float
    lane: str
    what: What
    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class Span:
    """One participant's snapshot, from its begin to its end."""

    lane: str
    begin: float
    end: float


def spans(moments: Iterable[Moment]) -> list[Span]:
    """Return the snapshots of one checkpoint in the order of their begins; one without an end is left out."""
    noted = sorted(moments, key=_order)
    ends = {moment.lane: moment.at for moment in noted if moment.what is What.SNAPSHOT_END}
    begins = [moment for moment in noted if moment.what is What.SNAPSHOT_BEGIN]
    return [Span(begin.lane, begin.at, ends[begin.lane]) for begin in begins if begin.lane in ends]


def snapshot_phase(moments: Iterable[Moment]) -> float:
    """Return the seconds from the first begin of a snapshot to the last end, 0 where there was none."""
    found = spans(moments)
    return max(span.end for span in found) - min(span.begin for span in found) if found else 0.0


def order_faults(moments: Sequence[Moment], arrangement: Arrangement) -> list[str]:
    """Return what is not in the order that the arrangement promises, each as a sentence; nothing where all is well."""
    found = spans(moments)
    if len(found) != 2:
        return [f"{len(found)} participants took a snapshot, not 2"]
    first, second = found
    faults = []
    if arrangement is Arrangement.CHAINED and second.begin < first.end:
        faults.append(f"chained, but {second.lane} began before {first.lane} had ended")
    if arrangement is Arrangement.KEYED and second.begin >= first.end:
        faults.append(f"keyed, but {second.lane} began only after {first.lane} had ended")
    return faults + _boundary_faults(moments, last_end=max(first.end, second.end))


def _boundary_faults(moments: Sequence[Moment], *, last_end: float) -> list[str]:
    """A checkpoint is complete after every snapshot, and whoever is told is told after that."""
    completed = [moment.at for moment in moments if moment.what is What.COMPLETE]
    notified = [moment for moment in moments if moment.what is What.NOTIFY]
    if not completed:
        return ["the checkpoint was not seen to complete"]
    faults = []
    if min(completed) < last_end:
        faults.append("the checkpoint was complete before every snapshot had ended")
    if {moment.lane for moment in notified} != {span.lane for span in spans(moments)}:
        faults.append("not everybody who took a snapshot was told that the checkpoint is complete")
    faults += [
        f"{each.lane} was told before every snapshot had ended" for each in notified if each.at < last_end
    ]
    faults += [
        f"{each.lane} was told before it was complete" for each in notified if each.at < max(completed)
    ]
    return faults


def ratio_faults(chained: float, keyed: float) -> list[str]:
    """Return what is wrong with the seconds of the two snapshot phases: the first must be twice the second."""
    if keyed <= 0:
        return ["the keyed snapshots took no time, so there is nothing to compare"]
    ratio = chained / keyed
    if LEAST_RATIO <= ratio <= GREATEST_RATIO:
        return []
    return [
        f"chained took {ratio:.2f} times as long as keyed, not between {LEAST_RATIO} and {GREATEST_RATIO} times"
    ]


def render(moments: Sequence[Moment]) -> list[str]:
    """Return the moments as lines for a person, each with the seconds since the first, and the snapshots as bars."""
    if not moments:
        return []
    noted = sorted(moments, key=_order)
    width = max(len(moment.lane) for moment in noted)
    began = noted[0].at
    lines = [f"{moment.at - began:8.3f} s  {moment.lane:<{width}}  {moment.what.value}" for moment in noted]
    return lines + _bars(spans(noted), width)


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


def _order(moment: Moment) -> tuple[float, int, str]:
    """At the same time, the order of a checkpoint."""
    return moment.at, list(What).index(moment.what), moment.lane
