"""The start-up checks that need no Spark session; the start repeats them all."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from milepost.checkpoint.lease.lease import require_free
from milepost.checkpoint.recovery.preflight import check_directory, find_damage, require_job
from milepost.checkpoint.savepoint.check import differences, require_same
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import verify
from milepost.checkpoint.store.store import Store
from milepost.config import Config, HBaseSink, PythonSink
from milepost.config.source import PythonFormat
from milepost.engine import BareJvm
from milepost.errors import MilepostError, NotReachableError
from milepost.job.spark.session import BeforeSession
from milepost.job.spark.settings import require_pinned_settings
from milepost.job.spec import StartOptions
from milepost.pipeline import named
from milepost.sink.hbase import HBaseStage, families
from milepost.sink.lookup.settings import reads_other_settings
from milepost.sink.table import require_usable
from milepost.sink.table_existence import missing_table
from milepost.source.start_offsets import require_topics
from milepost.source.topic_existence import existing_topics
from milepost.transform import require_function, require_object

# Checksums of this size take a moment; those of a larger savepoint are verified only by the start itself.
_QUICK_BYTES = 256 << 20
_QUICK_TIMEOUT = timedelta(seconds=5)


def require_startable(config: Config, folder: Path, options: StartOptions) -> None:
    """Refuse a directory, topic, module or table that the start would refuse, without starting Spark."""
    try:
        _require_directory(config, options)
        _require_topics(config)
        _require_modules(config, folder)
        _require_table(config)
    except MilepostError as error:
        raise error.map_text(config.redact) from error.__cause__


def make_table_check(config: Config) -> BeforeSession:
    """Return a check of the HBase table that runs in the driver's JVM before the session starts."""

    def check_table(jvm: BareJvm) -> None:
        sink = config.sink.kind
        if not isinstance(sink, HBaseSink):
            return
        quick = sink.model_copy(update={"connect_timeout": min(sink.connect_timeout, _QUICK_TIMEOUT)})
        try:
            HBaseStage(quick, checkpointing=config.checkpointing, job=config.name).inspect(jvm)
        except NotReachableError:
            return  # the start waits for HBase, and the restart strategy may retry
        except MilepostError as error:
            raise error.map_text(config.redact) from error.__cause__

    return check_table


def require_not_running(config: Config) -> None:
    """Refuse a checkpoint directory that another driver on this machine uses."""
    require_free(Store.at(config.checkpointing.dir))


def _require_directory(config: Config, options: StartOptions) -> None:
    store = Store.at(config.checkpointing.dir)
    if options.savepoint is not None:
        require_job(store, config.name)
        _require_savepoint(config, options.savepoint, is_allowed=options.allow_non_restored_state)
        return
    if options.discards_state(config.checkpointing):
        require_job(store, config.name)
        return
    if config.checkpointing.on_damage == "fail":
        check_directory(store, job_name=config.name)
    elif find_damage(store, job_name=config.name):
        return  # the start falls back to an intact checkpoint
    require_pinned_settings(config, store)


def _require_savepoint(config: Config, savepoint: Savepoint, *, is_allowed: bool) -> None:
    require_same(savepoint, differences(savepoint, config.name, outline(config)), is_allowed=is_allowed)
    if savepoint.size <= _QUICK_BYTES:
        store = verify(savepoint)
        check_directory(store, job_name=savepoint.job_name)
        require_pinned_settings(config, store)


def _require_topics(config: Config) -> None:
    for view, source in config.views.items():
        facts = existing_topics(source)
        if facts is None:
            return  # the start waits longer for a broker that does not respond immediately
        with named(config, view):
            require_topics(source.topics or (), source.topic_pattern, facts)


def _require_table(config: Config) -> None:
    sink = config.sink.kind
    if not isinstance(sink, HBaseSink):
        return
    settings = {key: str(value) for key, value in config.spark.conf.items()}
    if reads_other_settings(settings, os.environ, Path(_find_spark_home())):
        return  # the check in the driver's JVM applies them
    facts = missing_table(sink)
    if facts is not None and (sink.create_table is None or not facts.namespace_exists):
        require_usable(sink.table, facts, families(sink))


def _require_modules(config: Config, folder: Path) -> None:
    for index, chain in enumerate(config.participants):
        for reference in [chain] if isinstance(chain, str) else chain:
            require_object(reference, f"participants[{index}]", folder)
    for view, source in config.views.items():
        if isinstance(source.format, PythonFormat):
            with named(config, view):
                require_function(source.format.python, "source.kafka.format.python", folder)
    if isinstance(config.sink.kind, PythonSink):
        require_function(config.sink.kind.python, config.sink.key, folder)
    if config.transform is not None and config.transform.python is not None:
        require_function(config.transform.python, "transform.python", folder)
