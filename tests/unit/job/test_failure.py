"""A failed query as a sentence: what Spark says on the left, what a person reads on the right."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.errors import FatalJobError, JobFailedError, StorageError, UnknownTopicError, WriteExpiredError
from milepost.job.failure import explain

LOG = Path("/checkpoints/driver.log")
BAD = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0 in stage 1.0: "
    "io.milepost.record.RejectedRecordException: MILEPOST_BAD_RECORD MALFORMED at orders-2@17: cut off\n"
    "\tat io.milepost.record.FailOnBadRecord.reject(FailOnBadRecord.java:9)\n\tat java.base/Thread.run"
)
LETTER = (
    "java.lang.IllegalStateException: MILEPOST_DEAD_LETTER A dead letter could not be written to topic 'dead': "
    "too large\n\tat io.milepost"
)
HBASE = (
    "org.apache.spark.SparkException: Lost task\nio.milepost.hbase.mutation.HBaseWriteException: "
    "MILEPOST_HBASE_FATAL Table 'orders' has no family 'x'\n\tat io.milepost"
)
KAFKA = "io.milepost.kafkasink.KafkaWriteException: MILEPOST_KAFKA_FATAL A record could not be written: too large\n\tat"
PYTHON = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "clean.py", line 3, in orders\n    return 1 / 0\nZeroDivisionError: division by zero\n\n'
    "\tat org.apache.spark.api.python"
)
RECREATED = (
    "io.milepost.kafka.topic.TopicChangedException: MILEPOST_TOPIC_RECREATED topic orders was deleted and created "
    "again: its id is b and was a\n\tat io.milepost"
)
GROWN = (
    "io.milepost.kafka.topic.PartitionsGrownException: MILEPOST_PARTITIONS_GROWN topic orders has 5 partitions and had "
    "3\n\tat io.milepost"
)
UNKNOWN_TOPIC = (
    "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
    "This server does not host this topic-partition."
)
EXPIRED = (
    "org.apache.spark.SparkException: Lost task\nio.milepost.hbase.mutation.HBaseWriteException: "
    "MILEPOST_HBASE_EXPIRED Writing to HBase table 'orders' failed: a batch was not answered within "
    "4.0 s\n\tat io.milepost"
)
FULL = (
    "org.apache.spark.SparkException: [STREAM_FAILED] Query terminated. SQLSTATE: XXKST\n"
    "java.nio.file.FileSystemException: /checkpoints/offsets/7: No space left on device\n\tat java.base"
)
LOSS = (
    "org.apache.spark.sql.kafka010.KafkaIllegalStateException: [KAFKA_DATA_LOSS.COULD_NOT_READ] "
    "Some data may have been lost: t-0"
)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (BAD, "A record cannot be applied: MALFORMED at orders-2@17: cut off"),
        (
            RECREATED,
            "A topic is not the one the job began with (TOPIC_RECREATED): topic orders was deleted and created "
            "again: its id is b and was a",
        ),
        (
            GROWN,
            "Partitions were added to a source while a batch was read: topic orders has 5 partitions and had 3",
        ),
        (LETTER, "A dead letter could not be written to topic 'dead': too large"),
        (HBASE, "Table 'orders' has no family 'x'"),
        (KAFKA, "A record could not be written: too large"),
        (PYTHON, "ZeroDivisionError: division by zero"),
        (LOSS, "Records of the source were deleted before they were read"),
        (UNKNOWN_TOPIC, "Kafka does not know a topic or partition that the source reads"),
        (EXPIRED, "Writing to HBase table 'orders' failed: a batch was not answered within 4.0 s"),
        (FULL, "The directory /checkpoints is full: No space left on device"),
        ("java.lang.IllegalStateException: something else\n\tat x.y", "The query failed: something else"),
        (
            "org.apache.spark.SparkException: [INTERNAL_ERROR] The state is gone. SQLSTATE: XXKST",
            "The query failed: The state is gone.",
        ),
        ("", "no reason was given"),
    ],
)
def test_what_happened_is_said_without_a_java_stack_trace(message: str, what: str):
    error = explain(
        ["org.apache.spark.sql.streaming.StreamingQueryException: query failed", message]
        if message
        else [""],
        LOG,
    )
    assert what in error.what
    assert "MILEPOST_" not in error.what
    assert not [word for word in ("\tat ", "SQLSTATE", "org.apache", "Exception: ") if word in str(error)]
    assert error.exit_code == 1
    assert error.fix


def test_the_users_own_traceback_is_kept():
    assert 'File "clean.py", line 3' in explain([PYTHON], LOG).what


@pytest.mark.parametrize(
    ("message", "kind", "is_retryable"),
    [
        (UNKNOWN_TOPIC, UnknownTopicError, True),
        (EXPIRED, WriteExpiredError, True),
        (FULL, StorageError, True),
        (HBASE, FatalJobError, False),
    ],
)
def test_the_kind_of_a_failure_says_whether_a_restart_can_help(
    message: str, kind: type[JobFailedError], is_retryable: bool
) -> None:
    error = explain([message], LOG)
    assert type(error) is kind
    assert error.retryable is is_retryable


def test_what_hbase_had_no_time_for_names_a_key_that_exists() -> None:
    assert "checkpointing.timeout" in explain([EXPIRED], LOG).fix


def test_the_writer_that_failed_is_named() -> None:
    lost = "Job aborted due to stage failure: Task 3 in stage 5.0 failed 1 times, most recent failure: "
    assert explain([lost + HBASE], LOG).participants == ("writer/3",)
    assert explain([lost + KAFKA], LOG).participants == ("writer/3",)
    assert explain([HBASE], LOG).participants == ()
    assert explain([lost + PYTHON], LOG).participants == ()


def test_a_long_reason_is_shortened_in_what_and_whole_in_why() -> None:
    reason = "Cannot resolve " + "a" * 600
    error = explain([f"java.lang.IllegalStateException: {reason}\n\tat x.y"], LOG)
    assert error.what.endswith("a…")
    assert error.why == reason
