"""A plain Spark query is taken over where it stopped and goes on as a job: nothing is lost, nothing is twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.system.lab import Lab, Sent, no_trace
from tests.system.test_plain_spark_resumes import (
    SCHEMA,
    config_of,
    plain,
    records,
    table_of,
    totals,
)
from typer.testing import CliRunner

from milepost.checkpoint.store import identity
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.checkpoint.versions import versions
from milepost.cli import app
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.status import JobStatus
from milepost.migrate.adopt import Adoption, inspect
from milepost.verify import verify_pipeline

COMMAND = "milepost adopt pipeline.yaml --spark-checkpoint old"
FIRST, SECOND, THIRD = range(0, 40), range(40, 70), range(70, 80)


def adopt(lab: Lab, config: Config, old: Layout) -> Adoption:
    adoption = inspect(lab.spec(config), str(old.root), COMMAND)
    adoption.take()
    return adoption


def at_server_time(lab: Lab, table: str, rows: list[dict[str, int]]) -> None:
    """Write what a query of plain Spark would have: at HBase's own time."""
    for row in rows:
        lab.hbase.put(table, str(row["id"]).encode(), {(b"d", b"n"): str(row["n"]).encode()})


def written(layout: Layout) -> dict[Path, tuple[int, int]]:
    """Return when each file was written last, and how long it is."""
    stats = {path: path.stat() for path in layout.root.rglob("*")}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}


@pytest.mark.parametrize("kind", ["stateless", "stateful"])
def test_a_query_is_taken_over_where_it_stopped(lab: Lab, kind: str, tmp_path: Path) -> None:
    topic, table = lab.topic(*records(kind, FIRST), partitions=2), lab.table("d")
    old = Layout(lab.folder("old"))
    rows = plain(lab, kind, topic, old, tmp_path)
    at_server_time(lab, table, rows)
    before = written(old)

    config = config_of(lab, topic, kind, table, lab.folder("new") / "checkpoint", "latest")
    if kind == "stateful":
        config = with_filesystem_state(config)
    adoption = adopt(lab, config, old)
    assert adoption.plan.start.resumed_from == 0
    assert adoption.found.operators == (("stateStoreSave",) if kind == "stateful" else ())
    assert written(old) == before, "the old directory is only read"
    recorded = versions.recorded(LocalStore(Path(config.checkpointing.dir)))
    assert recorded is not None
    assert recorded.generation == 1, "above the cells at server time"
    assert identity.recorded(LocalStore(Path(config.checkpointing.dir))) == adoption.plan.topic_ids

    update = Sent(json.dumps({"id": "k3", "n": 1000}).encode(), b"k", partition=1)
    lab.produce(topic, *records(kind, SECOND), update)
    run = lab.run_bounded(config)
    assert run.status is JobStatus.FINISHED, str(run.error)
    if kind == "stateful":
        expected = totals(range(70))
        assert table_of(lab, config) == expected | {"k3": expected["k3"] + 1000}
        plain_spark_goes_on_with_what_is_exported(lab, config, topic, tmp_path)
    else:
        assert run.progress.rows == len(SECOND) + 1, "what the query has read is not read again"
        assert table_of(lab, config) == {f"k{n}": n for n in range(70)} | {"k3": 1000}
        report = verify_pipeline(config, lab.spark)
        assert report.is_verified, report.lines()
        assert report.not_yet_read == 0
        assert report.records == len(SECOND) + 1
    with pytest.raises(PreflightError, match="is not empty"):
        inspect(lab.spec(config), str(old.root), COMMAND)
    if kind == "stateless":
        a_batch_in_flight_is_run_again(lab, topic, old)
        wrong_pipelines_are_refused(lab, topic, old)


def plain_spark_goes_on_with_what_is_exported(lab: Lab, config: Config, topic: str, folder: Path) -> None:
    given = Layout(folder / "given")
    arguments = ["export", config.checkpointing.dir, "--to", str(given.root)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert {path.name for path in given.root.iterdir()} - {".metadata.crc"} == {
        "metadata",
        "offsets",
        "commits",
        "sources",
        "state",
    }
    lab.produce(topic, *records("stateful", THIRD))
    output = folder / "again"
    output.mkdir()
    rows = plain(lab, "stateful", topic, given, output)
    expected = totals(range(80))
    assert {row["id"]: row["n"] for row in rows} == expected | {"k3": expected["k3"] + 1000}


def with_filesystem_state(config: Config) -> Config:
    """Spark's own default keeps state in files, and the state stays what it is."""
    checkpointing = config.checkpointing.model_copy(update={"state_backend": "filesystem"})
    return config.model_copy(update={"checkpointing": checkpointing})


def a_batch_in_flight_is_run_again(lab: Lab, topic: str, old: Layout) -> None:
    copy = Layout(lab.folder("begun") / "old")
    shutil.copytree(old.root, copy.root)
    for name in ("0", ".0.crc"):
        (copy.commits / name).unlink(missing_ok=True)
    table = lab.table("d")
    config = config_of(lab, topic, "stateless", table, lab.folder("new") / "checkpoint", "latest")
    adoption = adopt(lab, config, copy)
    assert adoption.found.in_flight == 0
    assert any("The query started batch 0" in warning for warning in adoption.plan.warnings)
    lab.finish(config)
    assert table_of(lab, config) == {f"k{n}": n for n in range(70)} | {"k3": 1000}


def wrong_pipelines_are_refused(lab: Lab, topic: str, old: Layout) -> None:
    folder = lab.folder("new")
    other = config_of(lab, lab.topic(), "stateless", lab.table("d"), folder / "a", "latest")
    with pytest.raises(PreflightError, match="no source of the pipeline reads"):
        inspect(lab.spec(other), str(old.root), COMMAND)
    stateful = config_of(lab, topic, "stateful", lab.table("d"), folder / "a", "latest")
    with pytest.raises(PreflightError, match="it has none, and the pipeline has stateStoreSave"):
        inspect(lab.spec(stateful), str(old.root), COMMAND)
    shrunk = Layout(folder / "shrunk")
    shutil.copytree(old.root, shrunk.root)
    newest = shrunk.offsets / "0"
    newest.write_text(newest.read_text().replace('"1":20', '"1":20,"2":7'))
    (shrunk.offsets / ".0.crc").unlink(missing_ok=True)
    config = config_of(lab, topic, "stateless", lab.table("d"), folder / "b", "latest")
    with pytest.raises(PreflightError, match="no longer exists"):
        inspect(lab.spec(config), str(shrunk.root), COMMAND)
    newest.write_text(newest.read_text().replace('"1":20,"2":7', '"1":2000'))
    with pytest.raises(PreflightError, match="offset 2000 is beyond the end"):
        inspect(lab.spec(config), str(shrunk.root), COMMAND)
    the_command_says_it(lab, topic, old)


def the_command_says_it(lab: Lab, topic: str, old: Layout) -> None:
    folder = lab.folder("cli")
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": SCHEMA},
        sink={"columns": {"d": ["n"]}},
        checkpointing={"dir": str(folder / "checkpoint")},
    )
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(document | {"spark": {"master": "local[2]"}}))
    words = ["adopt", "pipeline.yaml", "--spark-checkpoint", str(old.root), "--dry-run"]
    call = subprocess.run(
        [sys.executable, "-m", "milepost", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert call.returncode == 0, call.stdout + call.stderr
    assert "batch 0 completed" in call.stdout
    assert "from checkpoint 0" in call.stdout
    assert "Nothing was changed" in call.stdout
    assert no_trace(call.stdout + call.stderr)
    assert not (folder / "checkpoint" / "offsets").exists()
