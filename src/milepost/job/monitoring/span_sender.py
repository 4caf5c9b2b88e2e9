"""Sends spans by OTLP over HTTP on its own thread: an unavailable collector does not slow the job down."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.monitoring import spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Tracer

QUEUE = 2048
"""The maximum number of spans that wait to be sent; the oldest are dropped first."""
_SEND_INTERVAL_MS = 1000
_CLOSE_TIMEOUT = 5.0
# These loggers write a line for every failed request.
_NOISY_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
)
_REQUIRED_MODULE = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


def require(config: Config) -> None:
    """Refuse a configuration with telemetry if its packages are not installed."""
    if config.telemetry is None:
        return
    try:
        is_installed = find_spec(_REQUIRED_MODULE) is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed:
        raise PreflightError(
            "telemetry needs packages that are not installed",
            why="OpenTelemetry is an optional dependency of Milepost",
            fix="Run pip install 'milepost[opentelemetry]', or remove the telemetry section",
        )


class SpanSender(CoordinatorListener):
    """A listener that sends a span for every checkpoint and every start."""

    def __init__(self, config: Config, job_id: str, warn: Callable[[str], None]) -> None:
        """Start sending; `warn` is called once per outage of the collector."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        telemetry = config.telemetry
        assert telemetry is not None  # checked by the caller
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        exporter = OTLPSpanExporter(
            endpoint=telemetry.traces,
            headers={name.lower(): str(value) for name, value in telemetry.headers.items()},
            timeout=telemetry.timeout.total_seconds(),
        )
        resource = Resource.create(
            {
                "service.name": telemetry.service_name or config.name,
                "service.version": version("milepost"),
                "job_id": job_id,
                "job_name": config.name,
            }
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(
            BatchSpanProcessor(
                _quiet(exporter, telemetry.traces, warn),
                max_queue_size=QUEUE,
                schedule_delay_millis=_SEND_INTERVAL_MS,
            )
        )
        self._tracer: Tracer = self._provider.get_tracer("milepost.checkpoint", version("milepost"))

    def initialized(self, began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> None:
        """Send the span of a start."""
        self._emit(spans.of_initialization(began, ended, restored))

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Send the span of a completed checkpoint."""
        self._emit(spans.of_completed(checkpoint))

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Send the span of a failed checkpoint."""
        self._emit(spans.of_failed(checkpoint))

    def close(self) -> None:
        """Send the remaining spans, for at most 5 s."""

        def shut_down() -> None:
            with suppress(Exception):
                self._provider.shutdown()

        ending = threading.Thread(target=shut_down, name="spans-end", daemon=True)
        ending.start()
        ending.join(_CLOSE_TIMEOUT)

    def _emit(self, span: spans.Span, parent: Any = None) -> None:
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        started = self._tracer.start_span(
            span.name, context=parent, attributes=dict(span.attributes), start_time=_nanoseconds(span.start)
        )
        if span.error is not None:
            started.set_status(Status(StatusCode.ERROR, span.error))
        for child in span.children:
            self._emit(child, set_span_in_context(started))
        started.end(_nanoseconds(max(span.end, span.start)))


def _quiet(inner: SpanExporter, address: str, warn: Callable[[str], None]) -> SpanExporter:
    """Return an exporter that warns once per outage."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Quiet(SpanExporter):
        is_failing = False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            try:
                result = inner.export(spans)
            except Exception:  # no response of a collector may fail the job
                result = SpanExportResult.FAILURE
            if result is SpanExportResult.FAILURE and not self.is_failing:
                with suppress(Exception):
                    warn(
                        f"Spans cannot be sent to {address} and are dropped; the job continues without them."
                    )
            self.is_failing = result is SpanExportResult.FAILURE
            return result

        def shutdown(self) -> None:
            inner.shutdown()

    return Quiet()


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1000
