"""The Python API as a script of a user's own: start, look, wait, stop, and the reason of a failure."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.system.lab import Lab, Sent, visible

SCRIPT = """
import json, sys, time

from pyspark.sql import functions as F

from milepost import Checkpointing, HBaseSink, JobStatus, KafkaSource, MilepostError, Pipeline

given = json.loads(sys.argv[1])


def pipeline(topic, table, directory, **source):
    return Pipeline(
        "api",
        source=KafkaSource(
            bootstrap_servers=given["bootstrap"], topics=[topic], format="json", schema="id STRING, n INT", **source
        ),
        transform=lambda rows: rows.withColumn("n", F.col("n") * 2),
        sink=HBaseSink(quorum=given["quorum"], table=table, row_key=["id"], columns={"d": ["n"]}, encoding="string"),
        checkpointing=Checkpointing(dir=directory, interval="200ms"),
    )


def told(error):
    return {"kind": type(error).__name__, "text": str(error), "exit": error.exit_code}


found = {}
job = pipeline(given["topic"], given["table"], given["dir"]).start()
found["id"] = job.job_id
assert job.status is JobStatus.RUNNING
deadline = time.monotonic() + 60
while job.progress().rows < 2 and time.monotonic() < deadline:
    assert job.wait(timeout=0.1) is JobStatus.RUNNING
found["rows"] = job.progress().rows
found["stopped"] = job.stop().value

with pipeline(given["bad"], given["other"], given["failed"]).start() as job:
    try:
        job.wait()
    except MilepostError as error:
        found["failed"] = told(error)
found["status"] = job.status.value
print(json.dumps(found))
"""


@pytest.mark.timeout(180)
def test_a_script_starts_looks_stops_and_hears_of_failures(lab: Lab) -> None:
    folder = lab.folder("api")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    topic = lab.topic(Sent(b'{"id": "a", "n": 1}'), Sent(b'{"id": "b", "n": 2}'))
    given = {
        "bootstrap": lab.services.bootstrap_servers,
        "quorum": lab.services.quorum,
        "topic": topic,
        "bad": lab.topic(Sent(b"no json")),
        "table": lab.table("d"),
        "other": lab.table("d"),
        **{name: str(folder / name) for name in ("dir", "failed")},
    }
    command = [sys.executable, str(script), json.dumps(given)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=170)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert found["rows"] == 2
    assert found["stopped"] == "CANCELED"
    assert found["failed"]["kind"] == "FatalJobError"
    assert f"MALFORMED at {given['bad']}-0@0" in found["failed"]["text"]
    assert found["status"] == "FAILED"
    cells = lab.cells(lab.config(topic, given["table"], sink={"columns": {"d": ["n"]}}))
    assert visible(cells) == {b"a": {b"n": b"2"}, b"b": {b"n": b"4"}}
