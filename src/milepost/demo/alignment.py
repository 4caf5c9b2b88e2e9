"""Compares a table with its checkpoints: counts at each cut, and how often each record was written. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from milepost.checkpoint.model import Offsets
from milepost.verify.compare import RawCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One checkpoint over several sources: its offset in each topic, and the counts in the table at that point."""

    checkpoint_id: int
    when: str
    offsets: Mapping[str, int]
    """The number of records of each topic below the checkpoint's offsets; topics start at offset 0 here."""
    counts: Mapping[str, int]
    """The number of records of each topic that the table has counted in that checkpoint."""

    @property
    def is_aligned(self) -> bool:
        """Whether exactly the records below the offsets are counted, in every topic."""
        return self.offsets == self.counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How often the records of one run were written, where each record has a row of its own."""

    mode: str
    version: str
    once: int
    twice: int
    more: int = 0

    @property
    def records(self) -> int:
        """The number of records in the table."""
        return self.once + self.twice + self.more


def records_below(sources: Iterable[Offsets], topics: Iterable[str]) -> dict[str, int]:
    """Return the number of records of each topic below a checkpoint's offsets, in topics that start at offset 0."""
    below = dict.fromkeys(topics, 0)
    for source in sources:
        for topic, partitions in source.items():
            below[topic] = below.get(topic, 0) + sum(partitions.values())
    return below


def counts_at(cells: Iterable[RawCell], checkpoint_id: int, topics: Iterable[str]) -> dict[str, int]:
    """Return the counts in the table at a checkpoint: the row of each topic as of the version that equals its id."""
    newest: dict[str, tuple[int, int]] = {}
    for row, _, _, version, _, value in cells:
        topic = row.decode()
        if version <= checkpoint_id and version >= newest.get(topic, (-1, 0))[0]:
            newest[topic] = (version, int(value))
    return {topic: newest.get(topic, (0, 0))[1] for topic in topics}


def writes_of(cells: Iterable[RawCell], *, mode: str, version: str) -> Writes:
    """Return how often each cell was written; each write that HBase can distinguish is a separate version."""
    versions: defaultdict[tuple[bytes, bytes], set[int]] = defaultdict(set)
    for row, _, qualifier, cell_version, _, _ in cells:
        versions[row, qualifier].add(cell_version)
    times = Counter(min(len(found), 3) for found in versions.values())
    return Writes(mode=mode, version=version, once=times[1], twice=times[2], more=times[3])


def cut_faults(cuts: Sequence[Cut]) -> list[str]:
    """Return a sentence for each cut at which the table differs from the checkpoint."""
    return [
        f"at checkpoint {cut.checkpoint_id}, {cut.when}, the offsets are {_pair(cut.offsets)} and the counts "
        f"{_pair(cut.counts)}"
        for cut in cuts
        if not cut.is_aligned
    ]


def write_faults(writes: Writes, *, records: int, replayed: int) -> list[str]:
    """Return what is wrong after `records` were sent and `replayed` of them were written before and after the crash."""
    twice = replayed if writes.mode == "at-least-once" else 0
    expected = Writes(mode=writes.mode, version=writes.version, once=records - twice, twice=twice)
    if writes == expected:
        return []
    return [
        f"{writes.mode}: {writes.once} records were written once, {writes.twice} twice and {writes.more} more often, "
        f"instead of {expected.once}, {expected.twice} and none"
    ]


def cut_lines(cuts: Sequence[Cut]) -> list[str]:
    """Return the cuts as a text table."""
    rows = [("checkpoint", "offsets (one, two)", "counts (one, two)", "", "")]
    rows += [
        (str(cut.checkpoint_id), _pair(cut.offsets), _pair(cut.counts), _verdict(cut), cut.when)
        for cut in cuts
    ]
    return _table(rows)


def write_lines(writes: Sequence[Writes]) -> list[str]:
    """Return how often records were written, as a text table."""
    rows = [("mode", "version", "records", "written once", "twice")]
    rows += [(each.mode, each.version, str(each.records), str(each.once), str(each.twice)) for each in writes]
    return _table(rows)


def _verdict(cut: Cut) -> str:
    return "equal" if cut.is_aligned else "DIFFERENT"


def _pair(numbers: Mapping[str, int]) -> str:
    return f"({', '.join(str(number) for number in numbers.values())})"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
