"""Creates the lineage of a pipeline from its configuration: its log, table and checkpoints."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.config import Config, HBaseSink
from milepost.errors import PreflightError
from milepost.inspect.checkpoint_details import StoredCheckpoints
from milepost.inspect.coverage import coverage
from milepost.inspect.lineage import Lineage
from milepost.inspect.records import Records
from milepost.verify.oracle import Mapping, Oracle
from milepost.verify.proof import mapping_of, table_options
from milepost.verify.table import cells_of_row, cells_of_version
from milepost.verify.versions import parse_eras

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def mapping_or_none(config: Config) -> Mapping | None:
    """Return the mapping of records to rows; None if it depends on user code."""
    _sink_of(config)
    try:
        return mapping_of(config)
    except PreflightError:
        return None


def lineage_of(config: Config, spark: SparkSession) -> Lineage:
    """Return the lineage of a pipeline; the job may be running."""
    sink, store, mapping = _sink_of(config), Store.at(config.checkpointing.dir), mapping_or_none(config)
    known, options = versions.recorded(store), table_options(sink)
    return Lineage(
        version=sink.version if isinstance(sink.version, str) else f"column:{sink.version.column}",
        is_guarded=sink.guard == "cas",
        eras={} if known is None else parse_eras(known.topics),
        oracle=None if mapping is None else Oracle(mapping),
        log=Records(config),
        coverage=partial(coverage, StoredCheckpoints(store)),
        row_cells=partial(cells_of_row, spark, options),
        version_cells=partial(cells_of_version, spark, options),
    )


def _sink_of(config: Config) -> HBaseSink:
    sink = config.sink.kind
    if not isinstance(sink, HBaseSink):
        raise PreflightError(
            f"Job {config.name!r} has no lineage",
            why="lineage is based on the versions of HBase cells, and its sink is not an HBase table",
            fix="Use the file of a pipeline with sink.hbase",
        )
    return sink
