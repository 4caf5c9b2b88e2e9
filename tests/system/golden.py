"""The golden savepoints: what each was made of, and how one is brought to another broker."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.system.lab import Lab, Sent

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import METADATA, SavedFile, Savepoint, to_json
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store import manifest as checkpoints
from milepost.checkpoint.store.pinned_settings import HDFS, PROVIDER, ROCKSDB
from milepost.config import Config

FOLDER = Path(__file__).parents[1] / "golden"
KINDS = ("stateless", "rocksdb", "filesystem", "participant", "real-time")
COUNTS = "SELECT id, COUNT(*) AS n FROM source GROUP BY id"
STATEFUL = ("rocksdb", "filesystem")


class Tally:
    """A participant with a state."""

    name = "tally"

    def __init__(self) -> None:
        self.snapshots = 0

    def initialize_state(self, context: Any) -> None:
        self.snapshots = context.state["snapshots"] if context.state else 0

    def snapshot_state(self, _context: Any) -> dict[str, int]:
        self.snapshots += 1
        return {"snapshots": self.snapshots}


def records(first: int, count: int) -> list[Sent]:
    """Return records with three keys in turn."""
    return [Sent(json.dumps({"id": f"k{n % 3}", "n": n}).encode()) for n in range(first, first + count)]


def topic_of(kind: str) -> str:
    return f"golden-{kind}"


def config(lab: Lab, kind: str, root: Path) -> Config:
    """Return the job of one kind; the table must be there."""
    backend = kind if kind in STATEFUL else "rocksdb"
    lab.spark.conf.set(PROVIDER, HDFS if backend == "filesystem" else ROCKSDB)
    is_real_time = kind == "real-time"
    spine = {
        "dir": str(root / "checkpoints" / kind),
        "savepoint-dir": str(root / "savepoints"),
        "interval": "1s" if is_real_time else "1h",
        "timeout": "1h",
        "execution": "real-time" if is_real_time else "micro-batch",
        "state-backend": backend,
    }
    document = lab.document(
        topic_of(kind),
        topic_of(kind),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={
            "columns": {"d": ["n"]},
            "encoding": "string",
            "version": "checkpoint" if kind in STATEFUL else "offset",
        },
        checkpointing=spine,
        sql=COUNTS if kind in STATEFUL else None,
    )
    return Config(**(document | {"name": topic_of(kind)}))


def participants(kind: str) -> list[object]:
    return [Tally()] if kind == "participant" else []


def brought_here(kind: str, to: Path, topic_id: str) -> Savepoint:
    """Copy a golden savepoint, with the id that its topic has on this broker, and sums that are right again."""
    shutil.copytree(FOLDER / kind, to)
    golden = catalog.load(str(to))
    manifest = names.manifest_of(golden.checkpoint_id)
    stored = checkpoints.from_json((to / manifest).read_bytes())
    (old,) = stored.topic_ids.values()
    renamed = replace(
        stored, topic_ids={topic_of(kind): topic_id}, versions=_with(stored.versions, old, topic_id)
    )
    (to / manifest).write_bytes(checkpoints.to_json(renamed))
    for name in (names.TOPICS, names.VERSIONS):
        (to / name).write_text((to / name).read_text().replace(old, topic_id))
    files = {name: _summed(to / name) for name in golden.files}
    (to / METADATA).write_bytes(to_json(replace(golden, files=files)))
    return catalog.load(str(to))


def _with(versions: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(dict(versions)).replace(old, new))


def _summed(path: Path) -> SavedFile:
    data = path.read_bytes()
    return SavedFile(len(data), hashlib.sha256(data).hexdigest())
