"""Turns what Spark throws into the sentence a person needs; the whole story stays in the driver's log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from milepost.checkpoint.stats.failure import recreated
from milepost.checkpoint.store.unwritable import storage_error_of_jvm
from milepost.errors import FatalJobError, JobFailedError, UnknownTopicError, WriteExpiredError
from milepost.sentence import plain

_RECREATED = re.compile(r"MILEPOST_TOPIC_RECREATED (?P<story>[^\n]*)")
_GROWN = re.compile(r"MILEPOST_PARTITIONS_GROWN (?P<story>[^\n]*)")
_BAD_RECORD = re.compile(r"MILEPOST_BAD_RECORD (?P<story>[^\n]*)")
_DEAD_LETTER = re.compile(r"MILEPOST_DEAD_LETTER (?P<story>[^\n]*)")
_HBASE = re.compile(r"HBaseWriteException: (?:MILEPOST_HBASE_(?P<kind>\w+) )?(?P<story>[^\n]*)")
_KAFKA = re.compile(r"MILEPOST_KAFKA_(?P<kind>\w+) (?P<story>[^\n]*)")
_PYTHON = re.compile(
    r"(?P<story>Traceback \(most recent call last\):\n(?:.*\n)*?\S[^\n]*)(?:\n\n|\n\tat |\Z)"
)
_DATA_LOSS = re.compile(
    r"(?P<story>[^\n]*(?:DATA_LOSS|data may have been lost|offset was changed)[^\n]*)", re.IGNORECASE
)
_TASK = re.compile(r"Task (?P<index>\d+) in stage")
_LONGEST = 500
_UNKNOWN_TOPIC = re.compile(
    r"UnknownTopic(?:OrPartition|Id)Exception|does not host this topic|UNKNOWN_TOPIC_(?:OR_PARTITION|ID)"
)


def explain(messages: Iterable[str], log: Path) -> JobFailedError:
    """Return the error for a failed query, given the messages of its causes, outermost first."""
    story = list(messages)
    text = "\n\n".join(story)
    for pattern, error in _EXPLANATIONS:
        if match := pattern.search(text):
            return error(match, log)
    if (full := storage_error_of_jvm(text)) is not None:
        return full
    last = next((message for message in reversed(story) if message.strip()), "")
    reason = plain(last)
    if len(reason) <= _LONGEST:
        return JobFailedError(f"The query failed: {reason}", fix=f"Details: {log}")
    return JobFailedError(f"The query failed: {reason[: _LONGEST - 1]}…", why=reason, fix=f"Details: {log}")


def _grown(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        f"The partitions of a source have grown while a batch was read: {match['story']}",
        why="keys may have moved to other partitions, and the versions of what was written do not bear that",
        fix="Start again: the batch is run once more with versions that do. A restart strategy does it by itself",
    )


def _bad_record(match: re.Match[str], _log: Path) -> JobFailedError:
    return FatalJobError(
        f"A record cannot be applied: {match['story']}",
        why="source.kafka.bad-records is fail; its offset was not committed",
        fix="Correct the producer or the schema, or set bad-records to skip or to {dead-letter: topic}",
    )


def _dead_letter(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        match["story"],
        why="a record may not leave the stream without its dead letter; its offset was not committed",
        fix="Check that the dead-letter topic exists, may be written, and takes messages as large as the "
        "source's topics (max.message.bytes)",
    )


_KINDS = {"FATAL": FatalJobError, "EXPIRED": WriteExpiredError}


def _not_written(match: re.Match[str], log: Path) -> JobFailedError:
    what = "sink.kafka or its brokers" if match.re is _KAFKA else "the table or HBase"
    fix = f"Mend {what}, then run again: the job resumes there. Details: {log}"
    if match["kind"] == "EXPIRED":
        fix = f"Check that HBase is up and answers, or raise checkpointing.timeout. Details: {log}"
    error = _KINDS.get(match["kind"], JobFailedError)(
        match["story"], why="nothing after the last completed checkpoint counts as written", fix=fix
    )
    if task := _TASK.search(match.string):
        # Only writers throw this, so the stage is theirs and the index of the task is that of the writer.
        error.participants = (f"writer/{task['index']}",)
    return error


def _python(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        f"Python code of the pipeline raised:\n{match['story']}",
        fix="Correct the function; the job resumes from its last completed checkpoint",
    )


def _unknown_topic(_match: re.Match[str], _log: Path) -> JobFailedError:
    return UnknownTopicError(
        "Kafka does not know a topic or a partition that the source reads",
        why="its leader is being elected, or the broker has not heard of it yet",
        fix="Check the topics of the source with Kafka's own tools if this lasts",
    )


def _data_loss(match: re.Match[str], _log: Path) -> JobFailedError:
    return FatalJobError(
        "Records of the source are gone before they were read",
        why=plain(match["story"]),
        fix="Start with another checkpointing.dir and choose the offsets with source.kafka.start",
    )


# The first that is found explains; what Milepost says itself comes before what Spark or Kafka say.
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Path], JobFailedError]], ...] = (
    (_RECREATED, lambda match, _log: recreated(match["story"])),
    (_GROWN, _grown),
    (_BAD_RECORD, _bad_record),
    (_DEAD_LETTER, _dead_letter),
    (_HBASE, _not_written),
    (_KAFKA, _not_written),
    (_PYTHON, _python),
    (_DATA_LOSS, _data_loss),
    (_UNKNOWN_TOPIC, _unknown_topic),
)
