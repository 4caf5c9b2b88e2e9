"""What the JVM says on the left, what a person reads on the right."""

from __future__ import annotations

import pytest

from milepost.sentence import capitalized, join_sentences, plain


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 5e2a, runId = 77b1] "
            "terminated with exception: This server does not host this topic-partition. SQLSTATE: XXKST",
            "Query [id = 5e2a, runId = 77b1] terminated with exception: This server does not host this "
            "topic-partition.",
        ),
        (
            "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors."
            "UnknownTopicOrPartitionException: This server does not host this topic-partition.",
            "This server does not host this topic-partition.",
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 7.0 failed 1 times, "
            "most recent failure: Lost task 1.0 in stage 7.0 (TID 12) (localhost executor driver): "
            "java.io.IOException: No space left on device\n\tat java.base/sun.nio.ch.FileDispatcherImpl.write0"
            "(Native Method)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\nDriver stacktrace:",
            "No space left on device",
        ),
        (
            "org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `m` "
            "cannot be resolved. Did you mean one of [`n`]? SQLSTATE: 42703; line 1 pos 7;\n'Project ['m]",
            "A column with name `m` cannot be resolved. Did you mean one of [`n`]?; line 1 pos 7;",
        ),
        ("java.lang.IllegalStateException: something else\n\tat x.y(Z.java:1)", "something else"),
        (
            "java.lang.IllegalStateException: broke off at io.milepost.X.run(X.java:3) at y.Z(Z.java)",
            "broke off",
        ),
        ("java.lang.NullPointerException: null\n\tat x.y(Z.java:1)", "NullPointerException"),
        ("java.lang.NullPointerException: None", "NullPointerException"),
        (
            "java.nio.file.FileSystemException: /c/offsets/3: No space left on device",
            "/c/offsets/3: No space left on device",
        ),
        ("TimeoutException: Call(callName=listOffsets) timed out", "Call(callName=listOffsets) timed out"),
        ("the words of an Error: stay", "the words of an Error: stay"),
        ("", "no reason was given"),
    ],
)
def test_a_message_of_the_jvm_becomes_one_line_of_words(message: str, words: str) -> None:
    assert plain(message) == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the offsets mean nothing", "The offsets mean nothing"),
        ("its checksum is wrong", "Its checksum is wrong"),
        ("checkpointing.dir is missing", "checkpointing.dir is missing"),
        ("milepost/sealed/3.json is there", "milepost/sealed/3.json is there"),
        ("orders-2@17: cut off", "orders-2@17: cut off"),
        ("'orders' is missing", "'orders' is missing"),
        ("`make jars`", "`make jars`"),
        ("version: offset is used", "version: offset is used"),
        ("Already", "Already"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name(text: str, shown: str) -> None:
    assert capitalized(text) == shown


def test_parts_are_joined_as_sentences() -> None:
    parts = ["Topic 'orders' is gone", "it was deleted", "", "Create it, or run with --fresh"]
    assert join_sentences(parts) == "Topic 'orders' is gone. It was deleted. Create it, or run with --fresh."
    assert join_sentences(["", ""]) == ""
    assert join_sentences(["keys stay: "]) == "keys stay:"
