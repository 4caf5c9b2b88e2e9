"""Turns Spark's exceptions into errors that say what to do; the full stack trace is in the driver's log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from milepost.checkpoint.stats.failure import recreated
from milepost.checkpoint.store.unwritable import storage_error_of_jvm
from milepost.errors import FatalJobError, JobFailedError, UnknownTopicError, WriteExpiredError
from milepost.sentence import plain

_RECREATED = re.compile(r"MILEPOST_TOPIC_RECREATED (?P<message>[^\n]*)")
_GROWN = re.compile(r"MILEPOST_PARTITIONS_GROWN (?P<message>[^\n]*)")
_BAD_RECORD = re.compile(r"MILEPOST_BAD_RECORD (?P<message>[^\n]*)")
_DEAD_LETTER = re.compile(r"MILEPOST_DEAD_LETTER (?P<message>[^\n]*)")
_HBASE = re.compile(r"HBaseWriteException: (?:MILEPOST_HBASE_(?P<kind>\w+) )?(?P<message>[^\n]*)")
_KAFKA = re.compile(r"MILEPOST_KAFKA_(?P<kind>\w+) (?P<message>[^\n]*)")
_PYTHON = re.compile(
    r"(?P<message>Traceback \(most recent call last\):\n(?:.*\n)*?\S[^\n]*)(?:\n\n|\n\tat |\Z)"
)
_DATA_LOSS = re.compile(
    r"(?P<message>[^\n]*(?:DATA_LOSS|data may have been lost|offset was changed)[^\n]*)", re.IGNORECASE
)
_TASK = re.compile(r"Task (?P<index>\d+) in stage")
_LONGEST = 500
_UNKNOWN_TOPIC = re.compile(
    r"UnknownTopic(?:OrPartition|Id)Exception|does not host this topic|UNKNOWN_TOPIC_(?:OR_PARTITION|ID)"
)


def explain(messages: Iterable[str], log: Path) -> JobFailedError:
    """Return the error for a failed query, given the messages of its causes, outermost first."""
    texts = list(messages)
    text = "\n\n".join(texts)
    for pattern, error in _EXPLANATIONS:
        if match := pattern.search(text):
            return error(match, log)
    if (storage_failure := storage_error_of_jvm(text)) is not None:
        return storage_failure
    last = next((each for each in reversed(texts) if each.strip()), "")
    reason = plain(last)
    if len(reason) <= _LONGEST:
        return JobFailedError(f"The query failed: {reason}", fix=f"Details: {log}")
    return JobFailedError(f"The query failed: {reason[: _LONGEST - 1]}…", why=reason, fix=f"Details: {log}")


def _explain_growth(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        f"Partitions were added to a source while a batch was read: {match['message']}",
        why="keys may have moved to other partitions, and the versions written so far do not account for that",
        fix="Start the job again: the batch is repeated with new versions. A restart strategy does this automatically",
    )


def _explain_bad_record(match: re.Match[str], _log: Path) -> JobFailedError:
    return FatalJobError(
        f"A record cannot be applied: {match['message']}",
        why="source.kafka.bad-records is fail; its offset was not committed",
        fix="Correct the producer or the schema, or set bad-records to skip or to {dead-letter: topic}",
    )


def _explain_dead_letter(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        match["message"],
        why="a rejected record must have its dead letter written first; its offset was not committed",
        fix="Check that the dead-letter topic exists, is writable, and accepts messages as large as the "
        "source's topics (max.message.bytes)",
    )


_KINDS = {"FATAL": FatalJobError, "EXPIRED": WriteExpiredError}


def _explain_write(match: re.Match[str], log: Path) -> JobFailedError:
    what = "sink.kafka or its brokers" if match.re is _KAFKA else "the table or HBase"
    fix = f"Fix {what} and run again: the job resumes from there. Details: {log}"
    if match["kind"] == "EXPIRED":
        fix = f"Check that HBase is running and responds, or raise checkpointing.timeout. Details: {log}"
    error = _KINDS.get(match["kind"], JobFailedError)(
        match["message"], why="nothing after the newest completed checkpoint counts as written", fix=fix
    )
    if task := _TASK.search(match.string):
        # Only writers throw this, so the task's index is the writer's.
        error.participants = (f"writer/{task['index']}",)
    return error


def _explain_python(match: re.Match[str], _log: Path) -> JobFailedError:
    return JobFailedError(
        f"The Python code of the pipeline raised:\n{match['message']}",
        fix="Correct the function; the job resumes from its newest completed checkpoint",
    )


def _explain_unknown_topic(_match: re.Match[str], _log: Path) -> JobFailedError:
    return UnknownTopicError(
        "Kafka does not know a topic or partition that the source reads",
        why="a leader election is in progress, or the broker's metadata is out of date",
        fix="If this persists, check the topics of the source with Kafka's own tools",
    )


def _explain_data_loss(match: re.Match[str], _log: Path) -> JobFailedError:
    return FatalJobError(
        "Records of the source were deleted before they were read",
        why=plain(match["message"]),
        fix="Start with a new checkpointing.dir and set the offsets in source.kafka.start",
    )


# The first match wins; Milepost's own messages come before those of Spark and Kafka.
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Path], JobFailedError]], ...] = (
    (_RECREATED, lambda match, _log: recreated(match["message"])),
    (_GROWN, _explain_growth),
    (_BAD_RECORD, _explain_bad_record),
    (_DEAD_LETTER, _explain_dead_letter),
    (_HBASE, _explain_write),
    (_KAFKA, _explain_write),
    (_PYTHON, _explain_python),
    (_DATA_LOSS, _explain_data_loss),
    (_UNKNOWN_TOPIC, _explain_unknown_topic),
)
