"""What of a pipeline can be told without its own code; the rest is in tests/system/test_look_inside.py."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.config import Config
from milepost.errors import PreflightError
from milepost.inspect.lineage_setup import mapping_or_none

HBASE = {"hbase": {"quorum": "h:1", "table": "t", "row-key": ["id"], "columns": {"d": ["n"]}}}


def config(sink: dict[str, Any], **sections: Any) -> Config:
    kafka = {"bootstrap-servers": "h:1", "topics": ["orders"], "format": "json", "schema": "id STRING, n INT"}
    return Config(
        name="orders", source={"kafka": kafka}, sink=sink, checkpointing={"dir": "/tmp/none"}, **sections
    )


def test_a_pipeline_without_a_transform_says_which_row_a_record_makes() -> None:
    mapping = mapping_or_none(config(HBASE))
    assert mapping is not None
    assert (mapping.row_key, mapping.version) == (("id",), "offset")


def test_a_transform_hides_it() -> None:
    assert mapping_or_none(config(HBASE, transform={"sql": "SELECT * FROM source"})) is None


def test_another_sink_has_no_lineage() -> None:
    with pytest.raises(PreflightError, match="has no lineage"):
        mapping_or_none(config({"console": {}}))
