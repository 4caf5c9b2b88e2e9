"""`milepost chaos` on a real job: it is killed by the plan, goes on, and its table is proved."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml
from tests.system.lab import Lab, numbered

RECORDS = 300


@pytest.mark.timeout(420)
def test_a_job_survives_the_plan_and_is_proved(lab: Lab) -> None:
    topic = lab.topic(*numbered(RECORDS, partitions=2), partitions=2)
    folder = lab.folder("chaos")
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["n"]}},
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "300ms"},
        restart={"strategy": "fixed-delay", "attempts": 3, "delay": "1s"},
    )
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document | {"spark": {"master": "local[2]"}}))
    # Seed 3: a kill of the driver, then the driver is suspended.
    command = ["chaos", str(file), "--seed", "3", "--faults", "2", "--json"]
    said = subprocess.run(
        [sys.executable, "-m", "milepost", *command], capture_output=True, text=True, check=False, timeout=400
    )
    assert said.returncode == 0, said.stdout + said.stderr
    answer = json.loads(said.stdout)
    assert [fault["fault"] for fault in answer["plan"]] == ["kill-driver", "pause-driver"]
    assert (answer["result"]["verified"], answer["result"]["records"]) == (True, RECORDS)
    assert said.stderr.count("starting the job again") == 1
