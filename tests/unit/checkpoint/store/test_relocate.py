"""Paths inside of Spark's files follow their directory."""

from __future__ import annotations

from pathlib import Path

from milepost.checkpoint.store.relocate import location_of, relocated
from milepost.checkpoint.store.store import LocalStore, Store

METADATA = (
    b'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},"stateStoreInfo":'
    b'[{"stateSchemaFilePaths":["file:/old/orders/state/0/_stateSchema/default/0_ab"]}]}'
)


def test_the_paths_of_schemas_follow():
    moved = relocated("state/0/_metadata/v2/0", METADATA, "file:/new/place")
    assert moved == METADATA.replace(b"file:/old/orders", b"file:/new/place")
    assert relocated("state/12/_metadata/v2/.7.crc", b"crc", "file:/new") is None


def test_everything_else_stays_as_it_is():
    for name in ("state/0/_metadata/metadata", "offsets/0", "state/0/0/1.zip", "offsets/.0.crc"):
        assert relocated(name, METADATA, "file:/new") == METADATA


def test_a_directory_as_spark_knows_it(tmp_path: Path):
    assert location_of(LocalStore(tmp_path)) == f"file:{tmp_path}"
    assert location_of(Store.at("memory://bucket/orders")).endswith("bucket/orders")
