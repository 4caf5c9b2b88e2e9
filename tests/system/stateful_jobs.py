"""Several pipelines in one process, each in a session of its own with its own state backend: a JVM costs seconds.

    python -m tests.system.stateful_jobs FOLDER

runs every *.yaml of the folder to its end. The transformations in Python lie beside the examples.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from milepost.config import Config, load_config
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings, share_modules
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job

EXAMPLES = Path(__file__).parents[2] / "examples"


def start(spark: SparkSession, config: Config, log: Path) -> Job:
    """Start a job in a session whose settings are its own."""
    own = spark.newSession()
    for key, value in session_settings(config).items():
        own.conf.set(key, value)
    own._jsparkSession.setActiveSession(own._jsparkSession)
    return start_job(prepare_job(JobSpec(spark=own, config=config, folder=EXAMPLES, log=log)))


def main(folder: Path) -> int:
    configs = [load_config(file) for file in sorted(folder.glob("*.yaml"))]
    log = folder / "driver.log"
    share_modules(EXAMPLES)
    with session("stateful", spark_conf("local[4]", session_settings(configs[0]), log), log) as spark:
        jobs = [start(spark, config, log) for config in configs]
        threads = [threading.Thread(target=job.wait) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for config, job in zip(configs, jobs, strict=True):
        print(config.name, job.status.value, job.error or "")
    return 0 if all(job.status is JobStatus.FINISHED for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
