"""Formats log lines: plain text, or one JSON object per line that names its job and checkpoint.

Secrets are masked, and control characters are escaped, so that logged data cannot forge lines.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any, TextIO

from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint, PendingCheckpoint
from milepost.checkpoint.stats.failure import NOT_OF_THE_CHECKPOINT
from milepost.config import Config

log = logging.getLogger("milepost.checkpoint")

_JVM_OPTIONS = "spark.driver.extraJavaOptions"

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CONTROL_IN_TRACE = re.compile(_CONTROL.pattern.replace(r"\x0a-\x1f", r"\x0b-\x1f"))


@dataclass(slots=True)
class Subject:
    """The job that the lines are about, as far as it is known."""

    job_name: str
    job_id: str | None = None
    attempt: Callable[[], int | None] = lambda: None
    pending: Callable[[], PendingCheckpoint | None] = lambda: None

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return the fields of every line beside its message."""
        number = getattr(record, "checkpoint_id", None)
        pending = self.pending() if number is None else None
        return {
            "job_id": self.job_id,
            "job_name": self.job_name,
            "attempt": self.attempt(),
            "checkpoint_id": number if pending is None else pending.checkpoint_id,
        }


class JsonFormatter(logging.Formatter):
    """One JSON object per line, in ASCII."""

    def __init__(self, subject: Subject, redact: Callable[[str], str]) -> None:
        """Add the fields of `subject`, and pass every text through `redact`."""
        super().__init__()
        self._subject = subject
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "timestamp": _timestamp(record),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": self._redact(record.getMessage()),
            **self._subject.fields(record),
        }
        for name in ("why", "fix"):
            if text := getattr(record, name, ""):
                line[name] = self._redact(text)
        if record.exc_info:
            line["exception"] = self._redact(self.formatException(record.exc_info))
        # JSON leaves DEL as it is.
        return json.dumps(line).replace("\x7f", "\\u007f")


class TextFormatter(logging.Formatter):
    """A line of text: time, level, logger, message."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        """Pass every text through `redact`."""
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the lines of a stack trace."""
        message = escape_controls(self._redact(record.getMessage()))
        line = f"{_timestamp(record)} {record.levelname} {record.name}: {message}"
        if not record.exc_info:
            return line
        return (
            f"{line}\n{_CONTROL_IN_TRACE.sub(_escape, self._redact(self.formatException(record.exc_info)))}"
        )


class CheckpointLog(CoordinatorListener):
    """A listener that logs every checkpoint and every start."""

    def initialized(self, began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> None:
        """Log the start of an attempt."""
        origin = "a fresh start" if restored is None else f"checkpoint {restored.checkpoint_id}"
        log.info("Started from %s in %d ms", origin, _milliseconds(began, ended))

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Log a completed checkpoint."""
        log.info(
            "Completed checkpoint %d in %d ms: %d rows, %d bytes of state",
            checkpoint.checkpoint_id,
            checkpoint.duration_ms,
            checkpoint.rows,
            checkpoint.state_size,
            extra={"checkpoint_id": checkpoint.checkpoint_id},
        )

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Log a failed checkpoint, as a warning unless it failed only because the job ended."""
        level = logging.INFO if checkpoint.reason in NOT_OF_THE_CHECKPOINT else logging.WARNING
        log.log(
            level,
            "Checkpoint %d failed (%s): %s %s",
            checkpoint.checkpoint_id,
            checkpoint.reason.name,
            checkpoint.reason.sentence,
            checkpoint.detail,
            extra={"checkpoint_id": checkpoint.checkpoint_id},
        )


def configure(config: Config, stream: TextIO | None = None) -> Subject:
    """Configure the log of this process; the caller fills in the returned subject."""
    subject = Subject(job_name=config.name)
    handler = logging.StreamHandler(stream or sys.stderr)
    is_json = config.logging.format == "json"
    handler.setFormatter(JsonFormatter(subject, config.redact) if is_json else TextFormatter(config.redact))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    # Below warnings, libraries log only their own internals.
    root.setLevel(logging.WARNING)
    logging.getLogger("milepost").setLevel(config.logging.effective_level.upper())
    return subject


def jvm_settings(config: Config, job_id: str) -> dict[str, str]:
    """Return the Spark settings that give the log of the driver's JVM the same format."""
    if config.logging.format == "text":
        return {}
    folder = Path(str(files("milepost"))) / "job"
    given = config.spark.conf.get(_JVM_OPTIONS)
    options = [
        *([given] if given else []),
        f"-Dlog4j2.configurationFile={(folder / 'log4j2-json.properties').as_uri()}",
        f"-Dmilepost.log.template={(folder / 'log4j2-template.json').as_uri()}",
        f"-Dmilepost.job.id={job_id}",
        f"-Dmilepost.job.name={config.name}",
    ]
    return {_JVM_OPTIONS: " ".join(options)}


def escape_controls(text: str) -> str:
    """Return the text on one line, with the characters escaped that a terminal would interpret."""
    return _CONTROL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(began: datetime, ended: datetime) -> int:
    return round((ended - began).total_seconds() * 1000)
