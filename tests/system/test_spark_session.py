"""Reading a table back from the docs alone: `milepost.spark_session()`, and plain `spark-submit` with our jars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pyspark
import pytest
from tests.system.lab import Lab, numbered

from milepost.job.spark.session import spark_jars

READ = """\
rows = (
    spark.read.format("milepost-hbase")
    .option("quorum", "QUORUM")
    .option("table", "TABLE")
    .option("row-key", '["id"]')
    .option("columns", '{"d": ["n"]}')
    .option("encoding", "string")
    .schema("id STRING, n INT")
    .load()
)
print("sum", rows.filter("id >= 'k3'").groupBy().sum("n").first()[0])
"""
OURS = """\
import milepost

for settings in ({}, {"spark.sql.shuffle.partitions": "2"}):
    with milepost.spark_session(master="local[1]", conf=settings) as spark:
""" + indent(READ, " " * 8)
PLAIN = f"""\
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
{READ}"""


@pytest.fixture(scope="module")
def table(lab: Lab) -> str:
    config = lab.numbers(lab.topic(*numbered(6)))
    lab.finish(config)
    return config.sink.hbase.table


def script(lab: Lab, folder: Path, text: str, table: str) -> str:
    file = folder / "read.py"
    file.write_text(text.replace("QUORUM", lab.services.quorum).replace("TABLE", table))
    return str(file)


def run(*command: str) -> str:
    # Spark makes its warehouse in the working directory, and beside it where that has a space in its name.
    folder = Path(command[-1]).parent
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(240)
def test_a_session_of_ours_reads_the_table_and_a_second_one_too(
    lab: Lab, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run(sys.executable, script(lab, tmp_path, OURS, table)) == "sum 12\nsum 12\n"
    assert list(tmp_path.glob("milepost-driver-*")) == [], "the session has cleared its folder"
    assert (tmp_path / "milepost" / "milepost.log").is_file()


@pytest.mark.timeout(240)
def test_spark_submit_with_our_jars_reads_the_table(
    lab: Lab, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = str(Path(sys.executable).with_name("spark-submit"))
    # PySpark's own script looks for it otherwise, and does not quote a path with a space.
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    jars = ",".join(map(str, spark_jars()))
    assert "sum 12\n" in run(submit, "--jars", jars, script(lab, tmp_path, PLAIN, table))
