"""The Python face of a pipeline: the same names as in the YAML, and a function as the transformation."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from milepost.config import Checkpointing, Config, HBaseSink, KafkaSource, Restart, SparkSettings
from milepost.job.launch import prepared
from milepost.job.progress import Progress
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.transform import Transformation

if TYPE_CHECKING:
    from typing_extensions import Self


class Pipeline:
    """A pipeline that can be started."""

    def __init__(  # noqa: PLR0913 - the parts of a pipeline, each by its name
        self,
        name: str,
        *,
        source: KafkaSource,
        sink: HBaseSink,
        checkpointing: Checkpointing,
        transform: Transformation | None = None,
        restart: Restart | None = None,
        spark: SparkSettings | None = None,
    ) -> None:
        """Check how the parts fit together; nothing is reached or started by this."""
        given = {"restart": restart, "spark": spark}
        settings = {key: value for key, value in given.items() if value is not None}
        self.config = Config(name=name, source=source, sink=sink, checkpointing=checkpointing, **settings)
        self._transform = transform

    def start(self) -> RunningPipeline:
        """Run every start-up check and start the job."""
        with ExitStack() as stack:
            job = stack.enter_context(prepared(self.config, Path.cwd(), self._transform)).start()
            return RunningPipeline(job, stack.pop_all())


class RunningPipeline:
    """A started pipeline. Also a context manager that stops it at a boundary."""

    def __init__(self, job: Job, session: ExitStack) -> None:
        """Watch the job until it ends, then close its session."""
        self._job = job
        self._last = job.progress()
        self._watcher = threading.Thread(target=self._watch, args=(session,), name="job-watcher")
        self._watcher.start()

    @property
    def job_id(self) -> str:
        """Return the id of this run."""
        return self._job.job_id

    @property
    def status(self) -> JobStatus:
        """Return where the job stands."""
        return self._job.status

    def progress(self) -> Progress:
        """Return what the job has done so far."""
        return self._last

    def stop(self) -> JobStatus:
        """Stop at the next boundary and return how the job ended."""
        self._job.stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait for the end, at most `timeout` seconds; raise the reason of a job that failed."""
        self._watcher.join(timeout)
        if self._job.error is not None:
            raise self._job.error
        return self._job.status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._job.stop()
        self._watcher.join()

    def _watch(self, session: ExitStack) -> None:
        with session:
            self._job.wait(self._look)

    def _look(self, progress: Progress) -> None:
        self._last = progress
