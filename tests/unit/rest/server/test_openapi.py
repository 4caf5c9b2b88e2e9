"""Every path is described: by a sentence, by what it takes, by how it refuses; and it is in the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.unit.rest.asgi import JOB, Server

from milepost.rest.server.openapi import operations

PAGES = Path(__file__).parents[4] / "docs"


def document(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/openapi.json").json
    return found


def test_every_operation_has_a_sentence_and_says_what_it_answers(server: Server):
    for path, method, operation in operations(document(server)):
        place = f"{method} {path}"
        assert operation["summary"].endswith("."), place
        assert "description" not in operation, place
        told = {status: each["description"] for status, each in operation["responses"].items()}
        assert "422" not in told, place
        assert {"401", "403"} <= told.keys(), place
        assert ("404" in told) == ("{" in path), place
        assert operation["summary"].startswith("Refuse ") != any(status < "300" for status in told), place
        assert all(text and text != "Successful Response" for text in told.values()), place


def test_flinks_paths_are_there_with_and_without_their_version(server: Server):
    paths = document(server)["paths"]
    own = [path for path in paths if path.startswith(("/milepost/", "/metrics"))]
    flink = [path for path in paths if path not in own and not path.startswith("/v1/")]
    assert {f"/v1{path}" for path in flink} == {path for path in paths if path.startswith("/v1/")}


def test_every_path_is_in_the_documentation(server: Server):
    text = "\n".join(page.read_text() for page in PAGES.glob("*.md"))
    documented = {re.sub(r":(\w+)", "{}", path) for path in re.findall(r"`(?:[A-Z]+ )?(/[\w/:.{}-]*)", text)}
    known = {
        re.sub(r"{\w+}", "{}", path) for path in document(server)["paths"] if not path.startswith("/v1/")
    }
    assert known <= documented, sorted(known - documented)


def test_a_refusal_has_its_own_shape(server: Server):
    found = document(server)
    assert found["components"]["schemas"]["ErrorResponseBody"]["required"] == ["errors"]
    assert found["security"] == [{"token": []}]
    assert "HTTPValidationError" not in found["components"]["schemas"]


def query(server: Server, path: str) -> dict[str, Any]:
    """The parameters of a GET's query, by name."""
    told = document(server)["paths"][path]["get"]["parameters"]
    return {each["name"]: each for each in told if each["in"] == "query"}


LISTS = ["/jobs/metrics", "/taskmanagers/metrics", "/jobs/{jobid}/vertices/{vertexid}/subtasks/metrics"]


@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_described_as_one_with_commas(path: str, server: Server):
    for name, told in query(server, path).items():
        assert told["schema"]["type"] == "array", name
        assert (told["style"], told["explode"]) == ("form", False), name


@pytest.mark.parametrize("path", LISTS)
def test_an_aggregation_is_one_of_those_that_are_accepted(path: str, server: Server):
    modes = query(server, path)["agg"]["schema"]["items"]["enum"]
    assert modes == ["min", "max", "avg", "sum", "skew"]
    target = re.sub(r"{\w+}", JOB, path)
    assert server.get(f"{target}?agg={','.join(modes)}").status == 200


@pytest.mark.parametrize(
    "text", ["0", "12", "0-3", "123456789", "", "-", "3-", "x", "1,2", " 1", "1234567890"]
)
def test_subtasks_are_described_as_what_is_accepted(text: str, server: Server):
    path = "/jobs/{jobid}/vertices/{vertexid}/subtasks/metrics"
    pattern = query(server, path)["subtasks"]["schema"]["items"]["pattern"]
    target = re.sub(r"{\w+}", JOB, path)
    answer = server.get(f"{target}?subtasks=0,{quote(text, safe=',')}")
    is_described = all(re.search(pattern, part) for part in text.split(",") if part)
    assert (answer.status == 200) == is_described
