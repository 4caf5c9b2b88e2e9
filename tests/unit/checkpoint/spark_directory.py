"""A checkpoint directory as Spark leaves it, to be damaged."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore

CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.multipleWatermarkPolicy": "min"}


def offsets_text(*sources: dict[str, dict[int, int]]) -> str:
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1794736743209, "conf": CONF}
    return "\n".join(["v1", json.dumps(metadata), *(json.dumps(source) for source in sources)])


class SparkDirectory:
    """Writes what Spark 4.2 writes, byte for byte, and damages it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = Layout(root)
        self.store = LocalStore(root)

    def write(self, name: str, data: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def batches(self, *, offsets: Sequence[int], commits: Sequence[int]) -> SparkDirectory:
        """Batch N ends at offset 10 * (N + 1) of partition 0 and one less of partition 1."""
        self.write("metadata", '{"id":"4d7fe9a7-972b-4136-9bdb-dc7bbd5c28b5"}')
        self.write("sources/0/0", '\0v1\n{"orders":{"0":0,"1":0}}')
        for batch in offsets:
            self.write(f"offsets/{batch}", offsets_text({"orders": ends(batch)}))
        for batch in commits:
            self.write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')
        return self

    def checksum(self, name: str) -> Path:
        """Write the .crc file that Hadoop's local file system would."""
        path = self.root / name
        data = path.read_bytes()
        sums = [zlib.crc32(data[at : at + 512]) for at in range(0, len(data), 512)]
        crc = path.with_name(f".{path.name}.crc")
        crc.write_bytes(b"crc\0" + struct.pack(f">I{len(sums)}I", 512, *sums))
        return crc


def ends(batch: int) -> dict[int, int]:
    return {0: 10 * (batch + 1), 1: 10 * (batch + 1) - 1}


class PowerCut(Exception):
    """What a store that dies raises."""


class Mortal(LocalStore):
    """Dies before its n-th move."""

    def __init__(self, root: Path, moves: int) -> None:
        super().__init__(root)
        self.moves = moves

    def move(self, name: str, to: str) -> None:
        if self.moves == 0:
            raise PowerCut
        self.moves -= 1
        super().move(name, to)
