"""From a pipeline's configuration to what answers questions of lineage: its log, its table, its checkpoints."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.config import Config, HBaseSink
from milepost.errors import PreflightError
from milepost.inspect.checkpoint_details import Stored
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
    """Return how records become rows, or None where only the job's own code knows."""
    _sink_of(config)
    try:
        return mapping_of(config)
    except PreflightError:
        return None


def lineage_of(config: Config, spark: SparkSession) -> Lineage:
    """Return what answers for this pipeline; the job may run meanwhile."""
    sink, store, mapping = _sink_of(config), Store.at(config.checkpointing.dir), mapping_or_none(config)
    known, options = versions.recorded(store), table_options(sink)
    return Lineage(
        version=sink.version if isinstance(sink.version, str) else f"column:{sink.version.column}",
        is_guarded=sink.guard == "cas",
        eras={} if known is None else parse_eras(known.topics),
        oracle=None if mapping is None else Oracle(mapping),
        log=Records(config),
        coverage=partial(coverage, Stored(store)),
        row_cells=partial(cells_of_row, spark, options),
        version_cells=partial(cells_of_version, spark, options),
    )


def _sink_of(config: Config) -> HBaseSink:
    sink = config.sink.kind
    if not isinstance(sink, HBaseSink):
        raise PreflightError(
            f"Job {config.name!r} has no lineage",
            why="lineage follows the versions of HBase cells, and its sink is no table of HBase",
            fix="Name the file of a pipeline with sink.hbase",
        )
    return sink
