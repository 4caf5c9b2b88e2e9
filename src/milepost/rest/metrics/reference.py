"""Writes docs/reference/metrics.md from the catalog: `python -m milepost.rest.metrics.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from milepost.rest.metrics.catalog import CATALOG, exposed_name
from milepost.rest.metrics.model import Kind, Metric, Scope

_HEAD = """\
# Metrics

Every metric of a job. Written by `make docs` from the code; do not edit. How to collect them: [metrics](../metrics.md).

- Flink's metrics have Flink's names, as its Prometheus reporter writes them, and all of them are gauges there.
  In the values of their labels every character but letters, digits, `:` and `_` is `_`, as in Flink.
- Ours begin with `milepost_`, and their labels are exact.
- A metric whose value is not known is left out.
"""
_SCOPES = {
    Scope.JOBMANAGER: ("The driver", "`host`", "`/jobmanager/metrics`"),
    Scope.JOB: ("The job", "`host`, `job_id`, `job_name`", "`/jobs/:jobid/metrics`"),
    Scope.TASK: (
        "Tasks: each source, and the sink",
        "`host`, `tm_id`, `job_id`, `job_name`, `task_id`, `task_name`, `task_attempt_id`, `task_attempt_num`, "
        "`subtask_index`",
        "`/jobs/:jobid/vertices/:vertexid/subtasks/0/metrics`",
    ),
    Scope.OPERATOR: (
        "Operators: the same, in more detail",
        "those of the task, `operator_id`, `operator_name`",
        "`/jobs/:jobid/vertices/:vertexid/subtasks/0/metrics`, with the operator's name in front",
    ),
    Scope.MILEPOST: ("What Flink does not have", "`job_id`, `job_name`", ""),
}


def render() -> str:
    """Return the whole page."""
    return _HEAD + "".join(line for scope in _SCOPES for line in _section(scope))


def _section(scope: Scope) -> Iterator[str]:
    title, labels, path = _SCOPES[scope]
    yield f"\n## {title}\n\nLabels: {labels}."
    yield f" In REST: {path}.\n\n" if path else "\n\n"
    if scope is Scope.MILEPOST:
        yield "| Prometheus | labels | kind | meaning |\n|---|---|---|---|\n"
    else:
        yield "| Prometheus | REST | labels | kind | meaning |\n|---|---|---|---|---|\n"
    for metric in CATALOG:
        if metric.scope is scope:
            yield _row(metric)


def _row(metric: Metric) -> str:
    name = "—" if metric.kind is Kind.TEXT else f"`{exposed_name(metric)}`"
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "—"
    cells = [name, labels, metric.kind.value, metric.help]
    if metric.scope is not Scope.MILEPOST:
        cells.insert(1, f"`{_rest_name(metric)}`")
    return f"| {' | '.join(cells)} |\n"


def _rest_name(metric: Metric) -> str:
    return ".".join(f"{part}.:{part}" if part in metric.labels else part for part in metric.name.split("."))


if __name__ == "__main__":
    sys.stdout.write(render())
