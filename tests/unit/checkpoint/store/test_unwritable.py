"""What an operating system or a JVM says on the left, what a person reads on the right."""

from __future__ import annotations

import errno
import os

import pytest

from milepost.checkpoint.store.unwritable import (
    is_of_a_directory,
    refused_start,
    storage_error,
    storage_error_of_jvm,
)
from milepost.errors import PreflightError, StorageError

CHECKPOINTS = "/data/orders"


def error(number: int, file: str | None = f"{CHECKPOINTS}/milepost/sealed/3.json") -> OSError:
    return OSError(number, os.strerror(number), file)


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "is full"),
        (errno.EROFS, "is read-only"),
        (errno.EACCES, "is not writable for this user"),
        (errno.EIO, "is on a file system that fails"),
        (errno.ENOENT, "did not take a file"),
    ],
)
def test_the_directory_and_its_state_are_named(number: int, state: str) -> None:
    told = storage_error(error(number))
    assert told.what == f"The directory {CHECKPOINTS} {state}: {os.strerror(number)}"
    assert told.why == f"{CHECKPOINTS}/milepost/sealed/3.json could not be written"
    assert told.fix
    assert told.retryable
    assert "Errno" not in str(told)


@pytest.mark.parametrize(
    ("file", "directory"),
    [
        ("/data/orders/offsets/.7.5c.tmp", "/data/orders"),
        ("/data/orders/commits/7", "/data/orders"),
        ("/data/orders/state/0/1/2.delta", "/data/orders"),
        ("/data/orders/metadata", "/data/orders"),
        ("/data/orders/milepost", "/data/orders"),
        ("/savepoints/savepoint-6b1e2f-0a1b2c3d4e5f/_metadata", "/savepoints/savepoint-6b1e2f-0a1b2c3d4e5f"),
        ("/data/offsets-of-orders/metadata", "/data/offsets-of-orders"),
    ],
)
def test_the_directory_is_the_one_that_was_configured(file: str, directory: str) -> None:
    assert storage_error(error(errno.ENOSPC, file)).what.startswith(f"The directory {directory} is full")


def test_a_file_without_a_name_is_still_a_sentence() -> None:
    told = storage_error(error(errno.ENOSPC, None))
    assert told.what == "A directory that the job writes to is full: No space left on device"


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (
            "java.nio.file.FileSystemException: /data/orders/offsets/7: No space left on device",
            "The directory /data/orders is full: No space left on device",
        ),
        (
            "java.nio.file.FileSystemException: /data/orders/commits/.7.5c-1.tmp: Read-only file system\n\tat x",
            "The directory /data/orders is read-only: Read-only file system",
        ),
        (
            "java.io.IOException: No space left on device",
            "A directory that the job writes to is full: No space left on device",
        ),
    ],
)
def test_the_words_of_a_jvm_are_understood(message: str, what: str) -> None:
    told = storage_error_of_jvm(message)
    assert told is not None
    assert told.what == what


def test_other_words_of_a_jvm_are_left_alone() -> None:
    assert storage_error_of_jvm("java.lang.IllegalStateException: no") is None


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [(errno.ENOSPC, StorageError, 1), (errno.EROFS, PreflightError, 2), (errno.EACCES, PreflightError, 2)],
)
def test_a_start_is_refused_where_only_a_person_can_help(number: int, kind: type, code: int) -> None:
    refused = refused_start(error(number))
    assert type(refused) is kind
    assert refused.exit_code == code


def test_a_broken_pipe_is_not_a_matter_of_directories() -> None:
    assert not is_of_a_directory(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert is_of_a_directory(error(errno.ENOSPC))
