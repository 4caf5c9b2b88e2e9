"""A client that calls the application itself, and a job that does as it is told."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.unit.checkpoint.rig import Rig
from tests.unit.config.conftest import changed

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailedBy,
    FailedCheckpoint,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)
from milepost.checkpoint.stats.counts import CheckpointStats, Ended, summarize
from milepost.checkpoint.store.store import Store
from milepost.config import Config, parse_config
from milepost.errors import MilepostError
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.server.access import Rules
from milepost.rest.server.app import create_app
from milepost.rest.server.audit import Audit
from milepost.rest.server.auth import AuthMiddleware
from milepost.rest.view.job_view import Checkpoints, JobView
from milepost.rest.view.operations import Operations

JOB = "0123456789abcdef0123456789abcdef"
TOKEN = "the-token-of-this-job"
READ_TOKEN = "the-token-that-only-looks"
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Clock:
    """Seconds that pass as they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def later(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def ack(participant: str, seconds: float = 1, **values: Any) -> Acknowledgement:
    return Acknowledgement(participant=participant, at=later(seconds), **values)


def completed(
    number: int, *acks: Acknowledgement, trigger: Trigger = Trigger.PERIODIC
) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=trigger,
        triggered_at=START,
        completed_at=later(2),
        job_id=JOB,
        epoch=1,
        acknowledgements=acks,
    )


def pending(number: int, waiting_for: set[str], *acks: Acknowledgement) -> PendingCheckpoint:
    return PendingCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=START,
        deadline=1e9,
        waiting_for=frozenset(waiting_for),
        acknowledged={each.participant: each for each in acks},
    )


def failed(number: int, *acks: Acknowledgement) -> FailedCheckpoint:
    """A checkpoint that the participant 'audit' has declined."""
    by = FailedBy(
        participant="audit", sentence="audit: ValueError: no", traceback="Traceback …\nValueError: no"
    )
    return FailedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=later(-5),
        failed_at=later(-2),
        reason=FailureReason.CHECKPOINT_DECLINED,
        detail=by.sentence,
        acknowledged=len(acks),
        waiting_for=len(acks) + 2,
        acknowledgements=acks,
        missing=("audit", "writer/1"),
        failed_by=(by,),
    )


def checkpoints_of(
    *ended: Ended, running: PendingCheckpoint | None = None, restored: CompletedCheckpoint | None = None
) -> Checkpoints:
    """The statistics of checkpoints that have ended."""
    known = CheckpointStats.of(ended)
    return Checkpoints(
        pending=running,
        history=(*reversed(known.history),),
        completed=known.completed,
        failed=known.failed,
        restored=restored,
        restored_at=later(9) if restored else None,
        restores=1 if restored else 0,
        latest_completed=known.latest_completed,
        latest_savepoint=None,
        latest_failed=known.latest_failed,
        durations=summarize(known.durations),
        sizes=summarize(known.sizes),
    )


class FakeJob:
    """What the routes see of a job; its futures are completed by the test."""

    def __init__(self) -> None:
        self.job_id = JOB
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.restarts = 2
        self.moved_at = {JobStatus.RUNNING: START}
        self.latest_progress: Progress | None = None
        self.counters = JobCounters()
        self.checkpoints = Rig().start().coordinator
        self.checkpoint: Future[Any] = Future()
        self.savepoint: Future[Any] = Future()
        self.asked: list[Any] = []

    def trigger_checkpoint(self) -> Future[Any]:
        self.asked.append("checkpoint")
        return self.checkpoint

    def trigger_savepoint(self, directory: str | None = None) -> Future[Any]:
        self.asked.append(("savepoint", directory))
        return self.savepoint

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Any]:
        self.asked.append(("stop", directory, drain))
        return self.savepoint

    def cancel(self) -> None:
        self.asked.append("cancel")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Server:
    """The application around a job, called without a socket."""

    folder: Path
    savepoint_dir: str | None = None
    job: FakeJob = field(default_factory=FakeJob)
    operations: Operations = field(default_factory=Operations)

    def __post_init__(self) -> None:
        self.view = JobView(self.job, self.config)
        rules = Rules(
            token=TOKEN,
            read_token=READ_TOKEN,
            hosts=frozenset({"localhost", "127.0.0.1"}),
            cookie="milepost-x",
        )
        self.app: AuthMiddleware = create_app(
            self.view, self.operations, rules, Audit(Store.at(str(self.folder)))
        )

    @property
    def config(self) -> Config:
        changes = {"checkpointing/dir": str(self.folder)}
        if self.savepoint_dir is not None:
            changes["checkpointing/savepoint-dir"] = self.savepoint_dir
        return parse_config(changed(changes))

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def poll(self, path: str, key: str, value: object) -> dict[str, Any]:
        """Ask until a field of the answer has the value."""
        pause = threading.Event()
        for _ in range(500):
            body: dict[str, Any] = self.get(path).json
            if body[key] == value:
                return body
            pause.wait(0.01)
        raise AssertionError(f"{key} is still {body[key]}")

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, data, **headers)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send one request; a header given as an empty text is left out."""
        sent = {"host": "localhost:8081", "authorization": f"Bearer {TOKEN}"}
        if body is not None:
            sent |= {"content-type": "application/json", "content-length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self._ask(method, path, body or b"", {k: v for k, v in sent.items() if v}))

    async def _ask(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8081),
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        got: list[Any] = []

        async def receive() -> Any:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            got.append(message)

        await self.app(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in got[0]["headers"]}
        text = b"".join(message.get("body", b"") for message in got[1:]).decode()
        return Answer(got[0]["status"], found, text)


def taken(path: str) -> Any:
    """A savepoint as the job's future has it."""
    return SimpleNamespace(path=path, checkpoint_id=7)


def routes() -> list[tuple[str, str]]:
    """Every method and path that the interface names, with parameters in braces."""
    named = Server(Path("/nowhere")).get("/openapi.json").json["paths"]
    return [(method.upper(), path) for path, methods in named.items() for method in methods]
