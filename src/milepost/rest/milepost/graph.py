"""`/milepost/jobs/:jobid/graph`: the pipeline as nodes and edges, with its current throughput."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fastapi import APIRouter

from milepost.config import Config, HBaseSink, KafkaSink, KafkaSource
from milepost.job.monitoring.progress import Progress
from milepost.rest.flink.job_vertex import STATE, Vertex, merge_vertices, vertex_id
from milepost.rest.server.parameters import RequestedView
from milepost.rest.view.job_view import Checkpoints
from milepost.rest.view.sampler import Sample

router = APIRouter(tags=["milepost"])

_LONGEST = 200


@router.get("/milepost/jobs/{jobid}/graph")
def graph(view: RequestedView) -> dict[str, Any]:
    """Return the pipeline as a graph with current rates."""
    return graph_body(
        view.config, view.checkpoints(), view.job.latest_progress, view.monitor.sampler.newest()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the graph."""

    name: str
    kind: str
    detail: str = ""
    parallelism: int | None = None
    rate: float | None = None
    """Records or rows per second."""
    lag: int | None = None
    rows: int | None = None

    @property
    def id(self) -> str:
        """The id; for a vertex the same as in Flink's responses."""
        return vertex_id(self.name)


def graph_body(
    config: Config, checkpoints: Checkpoints, progress: Progress | None, sample: Sample | None
) -> dict[str, Any]:
    """Return sources → transform → state operators → writers → sink, and participants beside the transform."""
    vertices = merge_vertices(checkpoints.latest_completed, checkpoints.restored, checkpoints.pending)
    sources = [_source(view, source, config, sample) for view, source in config.views.items()]
    middle = [_transform(config), *_states(vertices)]
    rate = sample.rows_per_second if sample else None
    rows = progress.rows if progress else None
    writers = [each for each in vertices if each.name == "Sink: Writer"]
    tasks = max((len(each.subtasks) for each in writers), default=0) or (sample.tasks if sample else 0)
    ends = [
        Node(name="Sink: Writer", kind="writer", parallelism=tasks or None, rate=rate, rows=rows),
        _sink(config),
    ]
    beside = [
        Node(name=each.name, kind="participant", detail="Python state", parallelism=1)
        for each in vertices
        if each.name != "Sink: Writer" and not each.name.startswith("State: ")
    ]
    line = [*middle, *ends]
    edges = [(each, line[0]) for each in sources]
    edges += list(pairwise(line))
    edges += [(middle[-1], each) for each in beside]
    return {
        "nodes": [_node_body(each) for each in (*sources, *line, *beside)],
        "edges": [{"from": start.id, "to": end.id} for start, end in edges],
    }


def _source(view: str, source: KafkaSource, config: Config, sample: Sample | None) -> Node:
    topics = ", ".join(source.topics or ()) or f"topics matching {source.topic_pattern}"
    # The rate of offsets is measured for all sources together.
    is_only = len(config.views) == 1
    return Node(
        name=f"Source: {view}",
        kind="source",
        detail=_truncate(topics),
        rate=sample.records_per_second if sample and is_only else None,
        lag=(sample.lag if is_only else _lag_of(source, sample.lags)) if sample else None,
    )


def _lag_of(source: KafkaSource, lags: Mapping[str, int]) -> int | None:
    own = [lag for name, lag in lags.items() if source.reads(name.rpartition("-")[0]) or source.reads(name)]
    return sum(own) if own else None


def _transform(config: Config) -> Node:
    transform = config.transform
    if transform is None:
        return Node(name="Transform", kind="transform", detail="none, or a Python function")
    return Node(name="Transform", kind="transform", detail=_truncate(transform.sql or str(transform.python)))


def _states(vertices: list[Vertex]) -> Iterator[Node]:
    for each in vertices:
        if each.name.startswith("State: "):
            acks = each.acknowledgements
            yield Node(
                name=each.name,
                kind=STATE,
                detail=f"{sum(ack.bytes for ack in acks):,} bytes" if acks else "",
                parallelism=sum(ack.details.get("instances", 1) for ack in acks) or None,
                rows=sum(ack.rows for ack in acks) if acks else None,
            )


def _sink(config: Config) -> Node:
    sink = config.sink.kind
    if isinstance(sink, HBaseSink):
        return Node(
            name=f"HBase: {sink.table}", kind="sink", detail=f"version: {_version_label(sink.version)}"
        )
    if isinstance(sink, KafkaSink):
        return Node(name=f"Kafka: {sink.topic or 'a topic per row'}", kind="sink")
    return Node(name=config.sink.key.removeprefix("sink."), kind="sink")


def _version_label(value: object) -> str:
    return value if isinstance(value, str) else f"column {getattr(value, 'column', value)}"


def _truncate(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _node_body(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "name": node.name,
        "detail": node.detail,
        "parallelism": node.parallelism,
        "rate": None if node.rate is None else round(node.rate, 1),
        "lag": node.lag,
        "rows": node.rows,
    }
