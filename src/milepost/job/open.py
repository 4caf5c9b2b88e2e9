"""Opens the Spark session of a job, and turns errors of Spark and the file system into Milepost errors."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.participants.loading import named_participants
from milepost.checkpoint.store.unwritable import is_of_a_directory, refused_start
from milepost.config import Config
from milepost.errors import MilepostError
from milepost.job.attempt import error_messages
from milepost.job.failure import explain
from milepost.job.monitoring import span_sender
from milepost.job.monitoring.logs import jvm_settings
from milepost.job.spark.session import BeforeSession, session, spark_conf
from milepost.job.spark.settings import log_file, session_settings, share_modules
from milepost.job.spec import JobSpec
from milepost.transform import load_object


@contextmanager
def open_job(
    config: Config, folder: Path, before_session: BeforeSession = lambda _: None, **parts: Any
) -> Iterator[JobSpec]:
    """Open a session and yield the spec of the job; close the session at the end.

    `before_session` is called with the driver's JVM before the session starts; `parts` are further fields of the spec.
    """
    span_sender.require(config)
    log = log_file(config)
    job_id = uuid.uuid4().hex
    share_modules(folder)
    load = partial(load_object, search=folder)
    settings = session_settings(config) | jvm_settings(config, job_id)
    conf = spark_conf(config.spark.master, settings, log)
    with _refuse_unwritable_directory(), session(config.name, conf, log, before_session) as spark:
        try:
            yield JobSpec(
                spark=spark,
                config=config,
                folder=folder,
                log=log,
                job_id=job_id,
                **{"participants": Participants(named_participants(config.participants, load)), **parts},
            )
        except MilepostError as error:
            raise error.map_text(config.redact) from error.__cause__
        except (Py4JJavaError, PySparkException) as error:
            # The text is read now: it is in the JVM, which is about to end.
            failure = explain(error_messages(error), log)
            raise failure.map_text(config.redact) from None


@contextmanager
def _refuse_unwritable_directory() -> Iterator[None]:
    """Report a directory that cannot be written as a refusal; any other OSError is a bug."""
    try:
        yield
    except OSError as error:
        if not is_of_a_directory(error):
            raise
        raise refused_start(error) from error
