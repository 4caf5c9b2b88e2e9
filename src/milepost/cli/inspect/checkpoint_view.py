"""Formats checkpoints as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.participants.value import size_of
from milepost.checkpoint.store import manifest
from milepost.cli.output import table
from milepost.inspect.checkpoint_details import Details
from milepost.inspect.checkpoint_list import CheckpointEntry, Listing, Status
from milepost.inspect.difference import Change, Difference, positions_of

_WIDTH = 80
_HEADINGS = ("id", "status", "trigger", "triggered (UTC)", "took", "rows", "bytes", "acks", "state")
_NOT_STORED = "one of them is no longer stored: states, extra data and eras cannot be compared"
_TEXTS = ("status", "trigger", "triggered (UTC)")


def listing_lines(listing: Listing) -> list[str]:
    """Return the list as text."""
    if listing.spark_batch is not None:
        return [
            f"Only plain Spark has run here, up to batch {listing.spark_batch}; Milepost has not stored a checkpoint."
        ]
    if not listing.entries:
        return ["No checkpoint has been taken yet."]
    lines = table.align_columns(_HEADINGS, [_cells(entry) for entry in listing.entries], left=_TEXTS)
    explained = (entry for entry in listing.entries if entry.reason)
    reasons = [f"{entry.checkpoint_id} {entry.status.name}: {entry.reason}" for entry in explained]
    counts = [f"{listing.stored:,} stored; {len(listing.entries):,} shown."]
    if listing.is_cut:
        counts.append("--limit 0 shows all.")
    if any(entry.status is Status.DISCARDED for entry in listing.entries):
        counts.append("DISCARDED: completed, no longer stored.")
    return [*lines, *([""] if reasons else []), *reasons, "", " ".join(counts)]


def listing_document(listing: Listing) -> dict[str, Any]:
    """Return the list as JSON."""
    return {
        "stored": listing.stored,
        "cut": listing.is_cut,
        "checkpoints": [_entry_document(entry) for entry in listing.entries],
    }


def details_lines(details: Details, job_name: str | None, *, with_values: bool) -> list[str]:
    """Return one checkpoint as text."""
    checkpoint = details.checkpoint
    return [
        *_summary(details, job_name),
        *_section("Offsets", _offsets(details)),
        *_section("Rejected records", _count_table("reason", checkpoint.rejected)),
        *_section("Late records", _count_table("topic", checkpoint.late)),
        *_section("Acknowledgements", _acknowledgements(checkpoint)),
        *_section("State of participants", _values(checkpoint.states, with_values=with_values)),
        *_section("Extra data", _values(checkpoint.extra, with_values=True)),
        *_section("Versions of cells", _eras(checkpoint.versions)),
        *_section("Files", table.align_columns(("name", "bytes"), _file_rows(details), left=("name",))),
        *_section("Failed before", [f"{each.reason.name}: {each.detail}" for each in details.failures]),
    ]


def details_document(details: Details, job_name: str | None) -> dict[str, Any]:
    """Return one checkpoint as JSON: the content of its manifest, its files and its failures."""
    following = details.next_triggered_at
    return {
        **manifest.checkpoint_to_json(details.checkpoint),
        "status": _status(details).name,
        "job": job_name,
        "duration-ms": details.checkpoint.duration_ms,
        "next-triggered-at": following and following.isoformat(),
        "files": [{"name": each.name, "bytes": each.bytes} for each in details.files],
        "failures": [
            {"reason": each.reason.name, "detail": each.detail, "failed-at": each.failed_at.isoformat()}
            for each in details.failures
        ],
    }


def difference_lines(difference: Difference) -> list[str]:
    """Return the changes between two checkpoints as text."""
    before, after = difference.before, difference.after
    lines = [
        f"From checkpoint {before.checkpoint_id} ({table.moment(before.completed_at)} UTC)",
        f"to   checkpoint {after.checkpoint_id} ({table.moment(after.completed_at)} UTC): "
        f"{table.duration(difference.elapsed_ms)}, {difference.between:,} checkpoints",
    ]
    unknown = difference.between - difference.counted
    written = table.align_columns(
        ("writer", "rows", "bytes"),
        [(each.writer, table.number(each.rows), table.size(each.bytes)) for each in difference.written],
        left=("writer",),
    )
    if unknown:
        written.append(
            f"excluding {unknown:,} checkpoints in between that are neither stored nor in the history"
        )
    return [
        *lines,
        *_section("Offsets", _advances(difference)),
        *_section("Written", written if difference.written or unknown else []),
        *_section("State of operators", _change_lines(difference.operators, _rows_and_bytes)),
        *_section("State of participants", _change_lines(difference.states, table.size)),
        *_section("Not known", [] if difference.is_complete else [_NOT_STORED]),
        *_section("Extra data", _change_lines(difference.extra, _short)),
        *_section("Topic ids", _change_lines(difference.topic_ids, str)),
        *_section("Eras of versions", _change_lines(difference.eras, str)),
    ]


def difference_document(difference: Difference) -> dict[str, Any]:
    """Return the difference as JSON."""
    changes = {
        "states": difference.states,
        "operators": difference.operators,
        "extra": difference.extra,
        "topic-ids": difference.topic_ids,
        "eras": difference.eras,
    }
    return {
        "from": difference.before.checkpoint_id,
        "to": difference.after.checkpoint_id,
        "elapsed-ms": difference.elapsed_ms,
        "checkpoints": difference.between,
        "counted": difference.counted,
        "whole": difference.is_complete,
        "partitions": [
            {
                "topic": p.topic,
                "partition": p.partition,
                "from": p.before,
                "to": p.after,
                "records": p.records,
            }
            for p in difference.partitions
        ],
        "written": [
            {"writer": each.writer, "rows": each.rows, "bytes": each.bytes} for each in difference.written
        ],
        **{
            key: [{"name": c.name, "from": _plain(c.before), "to": _plain(c.after)} for c in listed]
            for key, listed in changes.items()
        },
    }


def _cells(entry: CheckpointEntry) -> tuple[str, ...]:
    acks = "-" if entry.acknowledged is None else f"{entry.acknowledged}/{entry.expected}"
    return (
        str(entry.checkpoint_id),
        entry.status.name,
        _trigger(entry.trigger),
        table.moment(entry.triggered_at),
        table.duration(entry.duration_ms),
        table.number(entry.rows),
        table.size(entry.bytes),
        acks,
        table.size(entry.state_bytes),
    )


def _trigger(name: str | None) -> str:
    return (name or "-").replace("_", " ").lower()


def _entry_document(entry: CheckpointEntry) -> dict[str, Any]:
    return {
        "id": entry.checkpoint_id,
        "status": entry.status.name,
        "trigger": entry.trigger,
        "triggered-at": entry.triggered_at and entry.triggered_at.isoformat(),
        "ended-at": entry.ended_at and entry.ended_at.isoformat(),
        "duration-ms": entry.duration_ms,
        "rows": entry.rows,
        "bytes": entry.bytes,
        "acknowledged": entry.acknowledged,
        "expected": entry.expected,
        "state-bytes": entry.state_bytes,
        "reason": entry.reason,
    }


def _status(details: Details) -> Status:
    return Status.COMPLETED if details.is_stored else Status.DISCARDED


def _summary(details: Details, job_name: str | None) -> list[str]:
    checkpoint, following = details.checkpoint, details.next_triggered_at
    status = _status(details)
    gap = None if following is None else round((following - checkpoint.triggered_at).total_seconds() * 1000)
    facts = {
        "status": f"{status.name} ({status.value})",
        "job": " ".join(part for part in (job_name, checkpoint.job_id and f"id {checkpoint.job_id}") if part),
        "epoch": str(checkpoint.epoch),
        "trigger": f"{_trigger(checkpoint.trigger.name)} ({checkpoint.trigger.value})",
        "triggered": f"{table.moment(checkpoint.triggered_at)} UTC",
        "completed": f"{table.moment(checkpoint.completed_at)} UTC, after {table.duration(checkpoint.duration_ms)}",
        "next": "none yet" if gap is None else f"triggered {table.duration(gap)} later",
        "rows": table.number(checkpoint.rows),
    }
    return [
        f"Checkpoint {checkpoint.checkpoint_id}",
        *(f"  {key:<10} {text}" for key, text in facts.items() if text),
    ]


def _count_table(heading: str, counts: Mapping[str, int]) -> list[str]:
    rows = [(name, table.number(count)) for name, count in sorted(counts.items())]
    return table.align_columns((heading, "records"), rows, left=(heading,)) if rows else []


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _offsets(details: Details) -> list[str]:
    checkpoint = details.checkpoint
    before = positions_of(details.before) if details.before is not None else None
    rows = []
    for (topic, partition), offset in sorted(positions_of(checkpoint).items()):
        new = None if before is None else offset - before.get((topic, partition), 0)
        cells = (topic, str(partition), table.number(offset), table.number(new))
        rows.append((*cells, checkpoint.topic_ids.get(topic, "-")))
    headings = ("topic", "partition", "next offset", "records", "topic id")
    return table.align_columns(headings, rows, left=("topic", "topic id")) if rows else []


def _acknowledgements(checkpoint: CompletedCheckpoint) -> list[str]:
    acks = checkpoint.acknowledgements
    if not acks:
        return []
    rows = [
        (ack.participant, table.number(ack.rows), table.size(ack.bytes), table.duration(ack.duration_ms))
        for ack in acks
    ]
    lines = table.align_columns(("participant", "rows", "bytes", "took"), rows, left=("participant",))
    for ack in acks:
        if ack.details:
            details = " ".join(f"{key}={_short(value)}" for key, value in ack.details.items())
            lines.extend(_wrap(f"{ack.participant}: {details}"))
    return lines


def _values(values: Mapping[str, Any], *, with_values: bool) -> list[str]:
    if not values:
        return []
    rows = [(name, table.size(size_of(value))) for name, value in values.items()]
    lines = table.align_columns(("name", "size"), rows, left=("name",))
    if with_values:
        lines.extend(line for name, value in values.items() for line in _wrap(f"{name} = {_text(value)}"))
    return lines


def _eras(topics: Mapping[str, Any]) -> list[str]:
    lines = []
    for topic, known in topics.items():
        for era in known["eras"]:
            begins = " ".join(f"{partition}:{offset}" for partition, offset in era["from"].items())
            lines.extend(_wrap(f"{topic}: generation {era['generation']} by {era['order']}, from {begins}"))
    return lines


def _file_rows(details: Details) -> list[tuple[str, str]]:
    return [(each.name, table.size(each.bytes)) for each in details.files]


def _advances(difference: Difference) -> list[str]:
    rows = [
        (p.topic, str(p.partition), table.number(p.before), table.number(p.after), table.number(p.records))
        for p in difference.partitions
    ]
    if not rows:
        return []
    total = sum(p.records or 0 for p in difference.partitions)
    headings = ("topic", "partition", "from", "to", "records")
    return table.align_columns(headings, [*rows, ("total", "", "", "", table.number(total))], left=("topic",))


def _change_lines(changes: Iterable[Change], text: Any) -> list[str]:
    lines = []
    for change in changes:
        sides = ("nothing" if side is None else text(side) for side in (change.before, change.after))
        other = " (different content)" if change.before == change.after else ""
        lines.extend(_wrap(f"{change.name}: {' -> '.join(sides)}{other}"))
    return lines


def _rows_and_bytes(size: tuple[int, int]) -> str:
    return f"{size[0]:,} rows, {table.size(size[1])}"


def _plain(value: Any) -> Any:
    return manifest.value_to_json(value) if isinstance(value, bytes) else value


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes, hex {value.hex()}"
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _text(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def _wrap(text: str) -> list[str]:
    # A word longer than a line is not split, so that it can be copied.
    return textwrap.wrap(
        text, _WIDTH - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
