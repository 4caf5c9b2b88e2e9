"""Turns what Spark throws into the sentence a person needs; the whole story stays in the driver's log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from milepost.checkpoint.failure import recreated
from milepost.errors import FatalJobError, JobFailedError

_RECREATED = re.compile(r"MILEPOST_TOPIC_RECREATED (?P<story>[^\n]*)")
_BAD_RECORD = re.compile(r"MILEPOST_BAD_RECORD (?P<story>[^\n]*)")
_DEAD_LETTER = re.compile(r"MILEPOST_DEAD_LETTER (?P<story>[^\n]*)")
_HBASE = re.compile(r"HBaseWriteException: (?:MILEPOST_HBASE_(?P<kind>\w+) )?(?P<story>[^\n]*)")
_PYTHON = re.compile(
    r"(?P<story>Traceback \(most recent call last\):\n(?:.*\n)*?\S[^\n]*)(?:\n\n|\n\tat |\Z)"
)
_DATA_LOSS = re.compile(
    r"(?P<story>[^\n]*(?:DATA_LOSS|data may have been lost|offset was changed)[^\n]*)", re.IGNORECASE
)
_NOISE = re.compile(r"^(?:[\w.$]+(?:Exception|Error): )+")


def explain(messages: Iterable[str], log: Path) -> JobFailedError:
    """Return the error for a failed query, given the messages of its causes, outermost first."""
    story = list(messages)
    text = "\n\n".join(story)
    if match := _RECREATED.search(text):
        return recreated(match["story"])
    if match := _BAD_RECORD.search(text):
        return FatalJobError(
            f"A record cannot be applied: {match['story']}",
            why="source.kafka.bad-records is fail; its offset was not committed",
            fix="Correct the producer or the schema, or set bad-records to skip or to {dead-letter: topic}",
        )
    if match := _DEAD_LETTER.search(text):
        return JobFailedError(
            match["story"],
            why="a record may not leave the stream without its dead letter; its offset was not committed",
            fix="Check that the dead-letter topic exists, may be written, and takes messages as large as the "
            "source's topics (max.message.bytes)",
        )
    if match := _HBASE.search(text):
        kind = FatalJobError if match["kind"] == "FATAL" else JobFailedError
        return kind(
            match["story"],
            why="nothing after the last completed checkpoint counts as written",
            fix=f"Mend the table or HBase, then run again: the job resumes there. Details: {log}",
        )
    if match := _PYTHON.search(text):
        return JobFailedError(
            f"Python code of the pipeline raised:\n{match['story']}",
            fix="Correct the function; the job resumes from its last completed checkpoint",
        )
    if match := _DATA_LOSS.search(text):
        return FatalJobError(
            "Records of the source are gone before they were read",
            why=_NOISE.sub("", match["story"]).strip(),
            fix="Start with another checkpointing.dir and choose the offsets with source.kafka.start",
        )
    last = next((message for message in reversed(story) if message.strip()), "no reason was given")
    return JobFailedError(
        f"The query failed: {_NOISE.sub('', last.splitlines()[0])[:500]}",
        fix=f"Details: {log}",
    )
