from __future__ import annotations

import pytest

from milepost.config import ConsoleSink, HBaseSink, KafkaSink, PythonSink, Sink, SinkKind
from milepost.config.sink import as_sink
from milepost.errors import PreflightError

KINDS: dict[str, SinkKind] = {
    "hbase": HBaseSink(quorum="zk:2181", table="t", row_key=["id"], columns={"d": ["v"]}),
    "kafka": KafkaSink(bootstrap_servers="b:1", topic="out"),
    "console": ConsoleSink(rows=3),
    "python": PythonSink(python="a:B"),
}


@pytest.mark.parametrize("key", KINDS)
def test_a_sink_knows_its_kind_and_its_key(key: str):
    sink = Sink(**as_sink(KINDS[key]))
    assert sink.kind == KINDS[key]
    assert sink.key == f"sink.{key}"


def test_what_needs_a_table_refuses_other_sinks():
    assert Sink(**as_sink(KINDS["hbase"])).hbase == KINDS["hbase"]
    with pytest.raises(PreflightError, match="whose sink is hbase, but its sink is console"):
        _ = Sink(**as_sink(KINDS["console"])).hbase


def test_the_file_s_own_shape_is_left_as_it_is():
    assert as_sink({"python": "a:B"}) == {"python": "a:B"}
