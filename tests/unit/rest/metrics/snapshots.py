"""A snapshot of a job with something of everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB, START, ack, completed, later

from milepost.checkpoint.model import FailureReason
from milepost.checkpoint.stats.counts import RunCounts, Summary
from milepost.config import parse_config
from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.retention import Standing, Verdict
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.metrics.snapshot import Snapshot
from milepost.rest.view.job_view import Checkpoints
from milepost.source.committer import CommitStats

NEWEST = replace(
    completed(
        7,
        ack("writer/0", duration_ms=250, rows=30, details={"write": "mutations"}),
        ack("writer/1", duration_ms=750, rows=40, details={"write": "mutations"}),
        ack("state/0", duration_ms=20, bytes=1024),
        ack("counter", duration_ms=5),
    ),
    late_total={"my-orders": 500},
)
PROGRESS = Progress(
    checkpoint_id=7,
    running_batch=None,
    tasks=0,
    acknowledged=0,
    finished=False,
    position={"my-orders": {0: 100, 1: 0}},
)


RUN = RunCounts(
    completed=2,
    totals=Counter(rows=70, puts=60, deletes=6, bytes=4096, flushes=9),
    rejected=Counter(MALFORMED=3, NO_CHANGE=4),
)


def counters() -> JobCounters:
    found = JobCounters()
    found.begin({"my-orders": {0: 40, 1: 0}}, 4, dict)
    found.record_status(JobStatus.RUNNING, START)
    found.record_status(JobStatus.RESTARTING, later(10))
    found.record_status(JobStatus.RUNNING, later(12))
    found.record_progress(PROGRESS, 0)
    return found


def checkpoints(**changes: Any) -> Checkpoints:
    parts: dict[str, Any] = {
        "pending": None,
        "history": (NEWEST,),
        "completed": 8,
        "failed": 3,
        "failures": {FailureReason.CHECKPOINT_DECLINED: 2, FailureReason.CHECKPOINT_EXPIRED: 1},
        "restored": NEWEST,
        "restored_at": later(12),
        "restores": 1,
        "latest_completed": NEWEST,
        "latest_savepoint": None,
        "latest_failed": None,
        "durations": Summary(),
        "sizes": Summary(),
        "run": RUN,
    }
    return Checkpoints(**(parts | changes))


def snapshot(**changes: Any) -> Snapshot:
    topics = {"source/kafka/topics": ["my-orders"], "source/kafka/group-id": "g", "name": "my-orders-job"}
    parts: dict[str, Any] = {
        "at": later(20),
        "job_id": JOB,
        "status": JobStatus.RUNNING,
        "restarts": 1,
        "moved_at": {},
        "config": parse_config(changed(topics)),
        "checkpoints": checkpoints(),
        "progress": PROGRESS,
        "counters": counters(),
        "commits": {
            "source": CommitStats(
                succeeded=5, failed=1, committed={"my-orders": {0: 90, 1: 0}}, drift={"my-orders": {1: 2}}
            )
        },
        "ends": {"my-orders": {0: 125, 2: 9}},
        "offsets": [
            PartitionOffsets(
                topic="my-orders",
                partition=0,
                checkpoint=100,
                latest=125,
                verdict=Verdict(Standing.RESTORABLE, 9000),
            ),
            PartitionOffsets(topic="my-orders", partition=1, verdict=Verdict(Standing.UNRESTORABLE)),
        ],
    }
    return Snapshot(**(parts | changes))
