"""Two drivers on one checkpoint directory: exactly one runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml
from tests.system.lab import Lab, Sent, no_trace, wait_until

from milepost.config import Config
from milepost.job.status import JobStatus


def test_the_second_exits_3_with_who_holds_it_and_writes_nothing(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic(Sent(json.dumps({"id": "a", "n": 1}).encode(), b"a", 0))
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["n"]}},
    )
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document))
    job = lab.start(Config(**document))
    try:
        second = subprocess.run(
            [sys.executable, "-m", "milepost", "run", str(file)], capture_output=True, text=True, check=False
        )
        wait_until(lambda: job.progress().rows == 1, "the first driver has written its row")
    finally:
        job.cancel()
        assert job.wait() is JobStatus.CANCELED
    assert second.returncode == 3, second.stderr
    assert f"process {os.getpid()} on" in second.stderr
    assert no_trace(second.stderr)
    assert lab.finish(Config(**document | {"source": _bounded(document)})).rows == 0


def _bounded(document: dict[str, dict[str, dict[str, object]]]) -> dict[str, dict[str, object]]:
    return {"kafka": document["source"]["kafka"] | {"stop": "latest"}}
