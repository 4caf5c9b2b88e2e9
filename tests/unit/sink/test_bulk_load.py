"""Where HFiles wait, and what the Java sink is told about them."""

from __future__ import annotations

from typing import Any

from milepost.config import Config
from milepost.sink import bulk_load


def config(*, directory: str = "/data/jobs/orders", name: str = "orders", **sink: Any) -> Config:
    hbase = {"quorum": "zk", "table": "t", "row-key": ["id"], "columns": {"d": ["a"]}, **sink}
    return Config(
        name=name,
        source={
            "kafka": {
                "bootstrap-servers": "k:9092",
                "topics": ["t"],
                "format": "json",
                "schema": "id STRING, a STRING",
            }
        },
        sink={"hbase": hbase},
        checkpointing={"dir": directory, "timeout": "100s"},
    )


def bulk_load_options(job: Config) -> dict[str, str]:
    assert job.sink.hbase is not None
    return bulk_load.bulk_load_options(job.sink.hbase, job.checkpointing, job.name)


def staging_directory(job: Config) -> str:
    assert job.sink.hbase is not None
    return bulk_load.staging_directory(job.sink.hbase, job.checkpointing, job.name)


def test_mutations_need_no_place_to_wait():
    assert bulk_load_options(config()) == {"write": "mutations"}


def test_hfiles_wait_below_the_checkpoint_directory():
    assert bulk_load_options(config(write="auto", bulk_load_from=7)) == {
        "write": "auto",
        "staging-dir": "file:/data/jobs/orders/milepost/staging",
        "bulk-load.from-records": "7",
        "bulk-load.timeout-ms": "80000",
    }
    assert (
        staging_directory(config(directory="hdfs://nn/jobs/orders"))
        == "hdfs://nn/jobs/orders/milepost/staging"
    )


def test_jobs_that_share_a_staging_directory_do_not_sweep_each_other():
    shared = {"staging-dir": "hdfs://nn/staging"}
    one, other = config(**shared), config(directory="/data/jobs/other", **shared)
    assert staging_directory(one).startswith("hdfs://nn/staging/orders-")
    assert staging_directory(one) == staging_directory(config(**shared))
    assert staging_directory(one) != staging_directory(other)
