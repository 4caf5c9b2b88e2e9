"""A checkpoint directory with state of both backends, and where its savepoints go."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from tests.unit.checkpoint.rig import checkpoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.store import identity
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.identity import JobIdentity

ROCKS, PLAIN = "state/0/0", "state/1/0"


def snapshot_zip(*shared: str) -> bytes:
    """Return a snapshot of RocksDB that refers to these files."""
    packed = io.BytesIO()
    files = [{"localFileName": "7.sst", "dfsSstFileName": name, "sizeBytes": 3} for name in shared]
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": files, "numKeys": 1}))
    return packed.getvalue()


def fill(spark: SparkDirectory) -> SparkDirectory:
    """Write batches 2 to 4, of which 3 is complete, with state that belongs to it and state that does not."""
    spark.batches(offsets=[1, 2, 3, 4], commits=[1, 2, 3])
    for name in ("_metadata/metadata", "0/_metadata/schema"):
        spark.write(f"state/0/{name}", f"v1\n{name}")
    spark.write(f"{ROCKS}/2.zip", snapshot_zip("7-a.sst"))
    spark.write(f"{ROCKS}/1.zip", snapshot_zip("6-old.sst"))
    spark.write(f"{ROCKS}/5.zip", snapshot_zip("9-new.sst"))
    for name in ("7-a.sst", "6-old.sst", "9-new.sst"):
        spark.write(f"{ROCKS}/SSTs/{name}", name)
        spark.checksum(f"{ROCKS}/SSTs/{name}")
    for version in (2, 3, 4, 5):
        spark.write(f"{ROCKS}/{version}.changelog", f"changes {version}")
    spark.write(f"{PLAIN}/1.delta", "d1")
    for version in (2, 3, 4, 5):
        spark.write(f"{PLAIN}/{version}.delta", f"d{version}")
    spark.write(f"{PLAIN}/3.snapshot", "s3")
    spark.write(f"{PLAIN}/.6.delta.8f.tmp", "torn")
    CheckpointFiles(spark.store).complete(checkpoint(3))
    identity.record(spark.store, {"orders": "qX4"})
    identity.record_job(spark.store, JobIdentity(name="orders", job_id="6b1e2f000000"))
    return spark


STATE_OF_3 = {
    "state/0/_metadata/metadata",
    "state/0/0/_metadata/schema",
    f"{ROCKS}/2.zip",
    f"{ROCKS}/3.changelog",
    f"{ROCKS}/4.changelog",
    f"{ROCKS}/SSTs/7-a.sst",
    f"{ROCKS}/SSTs/.7-a.sst.crc",
    f"{PLAIN}/3.snapshot",
    f"{PLAIN}/4.delta",
}


@pytest.fixture
def filled(tmp_path: Path) -> SparkDirectory:
    return fill(SparkDirectory(tmp_path / "checkpoints"))
