"""Participants of a checkpoint, grouped into vertices."""

from __future__ import annotations

from tests.unit.rest.asgi import ack, completed, pending

from milepost.rest.flink.job_vertex import (
    Vertex,
    add_missing_vertices,
    find_place,
    find_vertex,
    group_participants,
    vertex_id,
)


def test_writers_are_the_subtasks_of_one_vertex():
    assert find_place("writer/12") == ("Sink: Writer", 12)
    assert find_place("state/3") == ("State: 3", 0)
    assert find_place("audit") == ("audit", 0)
    assert find_place("writer/me") == ("writer/me", 0)


def test_of_a_completed_one_everybody_has_acknowledged():
    vertices = group_participants(completed(1, ack("writer/1"), ack("writer/0"), ack("audit")))
    assert [(each.name, list(each.subtasks)) for each in vertices] == [
        ("audit", [0]),
        ("Sink: Writer", [0, 1]),
    ]


def test_of_a_pending_one_some_are_missing():
    (writers,) = group_participants(pending(1, {"writer/0", "writer/1"}, ack("writer/0")))
    assert writers.subtasks[1] is None
    assert len(writers.acknowledgements) == 1


def test_ids_are_flinks_and_stay():
    assert vertex_id("audit") == vertex_id("audit")
    assert len(vertex_id("audit")) == 32
    vertices = group_participants(completed(1, ack("audit")))
    assert find_vertex(vertices, vertex_id("audit")) is vertices[0]
    assert find_vertex(vertices, vertex_id("other")) is None


def test_every_vertex_of_the_job_is_in_every_checkpoint():
    known = [Vertex("Source: orders", {0: None}), Vertex("audit", {0: None})]
    done = completed(1, ack("writer/0"))
    everybody = add_missing_vertices(group_participants(done), known, done)
    assert [(each.name, len(each.acknowledgements)) for each in everybody] == [
        ("Source: orders", 1),
        ("audit", 0),
        ("Sink: Writer", 1),
    ]


def test_a_source_has_its_boundary_once_a_writer_has_acknowledged():
    known = [Vertex("Source: orders", {0: None})]
    begun = pending(1, {"writer/0", "writer/1"})
    (source, _) = add_missing_vertices(group_participants(begun), known, begun)
    assert source.acknowledgements == []
    going = pending(1, {"writer/0", "writer/1"}, ack("writer/0"))
    (source, _) = add_missing_vertices(group_participants(going), known, going)
    assert [each.at for each in source.acknowledgements] == [going.triggered_at]
