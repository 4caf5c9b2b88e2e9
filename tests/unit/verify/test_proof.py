"""From a configuration to what the checker must know; what it cannot model is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.checkpoint.spark_directory import SparkDirectory
from tests.unit.verify.faithful import table, upsert

from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import NotReachableError, PreflightError
from milepost.verify import Report, proof, verify_pipeline
from milepost.verify.compare import Cell
from milepost.verify.log import LogMovedError, Span
from milepost.verify.oracle import Record
from milepost.verify.proof import begins, horizons, mapping_of, table_options


def config(
    *, source: dict[str, Any] | None = None, sink: dict[str, Any] | None = None, **sections: Any
) -> Config:
    kafka = {"bootstrap-servers": "h:1", "topics": ["t"], "format": "json", "schema": "id STRING, a INT"}
    hbase = {"quorum": "h:2", "table": "t", "row-key": ["id"], "columns": {"d": {"q": "a"}}}
    return Config(
        name="n",
        source={"kafka": kafka | (source or {})},
        sink={"hbase": hbase | (sink or {})},
        **{"checkpointing": {"dir": "/tmp/c"}} | sections,
    )


def test_the_mapping_is_that_of_the_pipeline() -> None:
    mapping = mapping_of(config(sink={"salt": 4, "encoding": "string", "version": {"column": "a"}}))
    assert mapping.columns == (("d", "q", "a"),)
    assert [field.name for field in mapping.schema] == ["id", "a"]
    assert (mapping.salt, mapping.encoding, mapping.version) == (4, "string", "column:a")


def test_a_transform_is_refused() -> None:
    with pytest.raises(PreflightError, match="transform") as caught:
        mapping_of(config(transform={"sql": "SELECT * FROM source"}))
    assert caught.value.exit_code == 2


def test_a_format_the_model_cannot_read_is_refused() -> None:
    with pytest.raises(PreflightError, match="its format is python"):
        mapping_of(config(source={"format": {"python": "m:f"}}))


def test_several_sources_are_refused() -> None:
    kafka = {"bootstrap-servers": "h:1", "format": "string"}
    sources = {name: {"kafka": {**kafka, "topics": [name]}} for name in ("a", "b")}
    several = Config(
        name="n",
        sources=sources,
        sink=config(sink={"version": "timestamp"}).sink,
        checkpointing={"dir": "/tmp/c"},
    )
    with pytest.raises(PreflightError, match="several sources"):
        mapping_of(several)


def test_server_time_is_refused() -> None:
    with pytest.raises(PreflightError, match="the time of HBase"):
        mapping_of(config(checkpointing={"dir": "/tmp/c", "mode": "at-least-once"}))


def test_checkpoint_versions_are_refused() -> None:
    with pytest.raises(PreflightError, match="checkpoint ids"):
        mapping_of(config(sink={"version": "checkpoint"}))


def test_a_guarded_table_is_refused() -> None:
    with pytest.raises(PreflightError, match="guarded by cas"):
        mapping_of(config(sink={"guard": "cas"}))


def test_the_table_is_reached_as_the_sink_reaches_it() -> None:
    options = table_options(config(sink={"properties": {"hbase.rpc.timeout": "5"}}).sink.hbase)
    assert options == {"hbase.rpc.timeout": "5", "table": "t", "quorum": "h:2"}


def test_the_first_offsets_are_those_that_spark_wrote_down(tmp_path: Path) -> None:
    assert begins(LocalStore(tmp_path)) == {}
    folder = tmp_path / "sources" / "0"
    folder.mkdir(parents=True)
    (folder / "0").write_bytes(b'\0v1\n{"t":{"0":5,"1":7}}')
    assert begins(LocalStore(tmp_path)) == {("t", 0): 5, ("t", 1): 7}


def test_versions_below_the_beginning_of_the_log_prove_nothing() -> None:
    mapping = mapping_of(config())
    spans = [
        Span(topic="t", partition=0, begin=0, end=9),
        Span(topic="t", partition=1, begin=3, end=9),
        Span(topic="t", partition=2, begin=0, end=9, compacted=True),
    ]
    assert horizons(spans, mapping) == {("t", 0): 0, ("t", 1): 3, ("t", 2): 9}
    by_time = horizons(spans, mapping_of(config(sink={"version": "timestamp"})))
    assert by_time == {("t", 0): 0, ("t", 1): 1 << 63, ("t", 2): 1 << 63}


class Busy:
    """A job and a producer that work while the table is scanned."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = SparkDirectory(folder).batches(offsets=[0], commits=[0])
        self.log = [upsert(n, f"k{n % 4}", "ann", n) for n in range(10)]
        self.during_scan: Callable[[], None] = lambda: None
        monkeypatch.setattr(proof, "take_spans", self.take_spans)
        monkeypatch.setattr(proof, "read", self.read)
        monkeypatch.setattr(proof, "raw_cells", self.raw_cells)
        schema = "id STRING, customer STRING, amount BIGINT, op STRING"
        self.config = config(
            source={"topics": ["orders"], "schema": schema},
            sink={"columns": {"d": ["customer", "amount"]}, "op": "op"},
            checkpointing={"dir": str(folder)},
        )

    def take_spans(self, *_: object, begins: dict[tuple[str, int], int]) -> list[Span]:
        return [Span(topic="orders", partition=0, begin=begins["orders", 0], end=len(self.log))]

    def read(self, _: object, spans: list[Span]) -> Iterator[Record]:
        yield from self.log[spans[0].begin : spans[0].end]

    def raw_cells(self, *_: object) -> list[Cell]:
        self.during_scan()
        return table(self.log)

    def work(self) -> None:
        """Write more than one batch, and complete a checkpoint."""
        self.log += [upsert(n, f"k{n % 6}", "eve", n) for n in range(10, 25)]
        self.directory.batches(offsets=[1], commits=[1])

    def verify(self) -> Report:
        return verify_pipeline(self.config, cast(Any, None))


def test_what_is_written_while_the_table_is_scanned_accuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Busy(tmp_path, monkeypatch)
    busy.during_scan = busy.work
    report = busy.verify()
    assert report.is_verified, report.lines()
    assert (report.checkpoint, report.records, report.not_yet_read, report.ahead) == (0, 10, 15, 6)


def test_a_job_that_is_set_back_while_the_table_is_scanned_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Busy(tmp_path, monkeypatch)
    busy.during_scan = (tmp_path / "commits" / "0").unlink
    with pytest.raises(NotReachableError, match="went back from checkpoint 0"):
        busy.verify()


def test_a_log_that_retention_overtakes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, reads = Busy(tmp_path, monkeypatch), Counter[str]()

    def moved(*_: object) -> Iterator[Record]:
        reads["moved"] += 1
        raise LogMovedError("orders-0 lost records")

    def once(client: object, spans: list[Span]) -> Iterator[Record]:
        return busy.read(client, spans) if reads["moved"] else moved()

    monkeypatch.setattr(proof, "read", once)
    assert busy.verify().records == 10
    monkeypatch.setattr(proof, "read", moved)
    with pytest.raises(LogMovedError):
        busy.verify()
