"""The traceback of the user's code as text, without the frames of Milepost."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from milepost.errors import JobFailedError, ParticipantError

_PACKAGE = Path(__file__).parent.parent.parent
_OURS = tuple(f"{_PACKAGE / part}{os.sep}" for part in ("checkpoint/participants", "sink"))
_LONGEST = 16_000
_HEAD = 4_000


def own_words(error: BaseException) -> JobFailedError | None:
    """Return the error of a built-in participant, which needs no traceback; None for any other error."""
    if isinstance(error, ParticipantError):
        return None  # about a value that the user's code has left
    return error if isinstance(error, JobFailedError) else None


def user_traceback(error: BaseException) -> str:
    """Return the traceback from the first frame that is not ours, with causes and contexts in the same manner.

    Code that the user's code called, a library for example, is part of the story and stays. Values of variables
    are never shown.
    """
    # The innermost frames are enough of a deep recursion.
    report = traceback.TracebackException.from_exception(error, limit=-100)
    _drop_ours(report, seen=set())
    return shortened("".join(report.format()).rstrip("\n"))


def shortened(text: str) -> str:
    """Return the text, without its middle where it is very long: the end says most, the beginning where it began."""
    if len(text) <= _LONGEST:
        return text
    left_out = len(text) - _LONGEST
    return f"{text[:_HEAD]}\n… {left_out} characters left out …\n{text[_HEAD - _LONGEST :]}"


def _drop_ours(report: traceback.TracebackException, seen: set[int]) -> None:
    if id(report) in seen:
        return
    seen.add(id(report))
    frames = [frame for frame in report.stack or () if not frame.filename.startswith(_OURS)]
    # Without a stack there is no heading "Traceback" above nothing.
    report.stack = traceback.StackSummary.from_list(frames) if frames else None  # type: ignore[assignment]
    chained = [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]
    for other in chained:
        if other is not None:
            _drop_ours(other, seen)
