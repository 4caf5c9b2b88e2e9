"""Every path is described: by a sentence, by what it takes, by how it refuses; and it is in the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.unit.rest.asgi import Server

from milepost.rest.openapi import operations

PAGES = Path(__file__).parents[3] / "docs"


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
