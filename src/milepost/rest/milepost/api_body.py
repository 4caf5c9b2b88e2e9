"""`/milepost/api`: the description of every path as a page for people; plain HTML, without a script."""

from __future__ import annotations

from html import escape
from typing import Any

from milepost.rest.server.openapi import operations

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>REST interface of Milepost</title>
<link rel="icon" href="/web/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/web/style.css"></head>
<body><main><h1>REST interface</h1>
<p>Flink's paths also answer below <code>/v1</code>. A refusal is <code>{{"errors": ["…"]}}</code>.
The same for programs: <a href="/openapi.json">/openapi.json</a>. <a href="/">Dashboard</a>.</p>
{sections}</main></body></html>
"""
_SECTION = """<section class="card"><h2>{tag}</h2>
<div class="table"><table>
<thead><tr><th>Method</th><th>Path</th><th>Does</th><th>Takes</th><th>Answers</th></tr></thead>
<tbody>{rows}</tbody></table></div></section>
"""
_ROW = """<tr><td>{method}</td><td><code>{path}</code></td>
<td class="wide">{summary}</td><td class="wide">{takes}</td><td class="wide">{answers}</td></tr>
"""


def page(document: dict[str, Any]) -> str:
    """Return the page of a description."""
    sections: dict[str, list[str]] = {}
    for path, method, operation in operations(document):
        if not path.startswith("/v1/"):
            sections.setdefault(operation.get("tags", ["further"])[0], []).append(
                _row(path, method, operation, document)
            )
    return _PAGE.format(
        sections="".join(
            _SECTION.format(tag=escape(tag.capitalize()), rows="".join(rows))
            for tag, rows in sections.items()
        )
    )


def _row(path: str, method: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    return _ROW.format(
        method=escape(method),
        path=escape(path),
        summary=escape(_does(operation)),
        takes=" ".join(f"<code>{escape(name)}</code>" for name in _takes(operation, document)),
        answers=escape(", ".join(operation["responses"])),
    )


def _does(operation: dict[str, Any]) -> str:
    """Return what is answered, or what is done where nothing is."""
    for status, response in operation["responses"].items():
        if status < "300":
            return str(response["description"])
    return str(operation["summary"])


def _takes(operation: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the names of what may be said beside the path: in the query, and in the body."""
    query = [f"?{each['name']}=" for each in operation.get("parameters", ()) if each["in"] == "query"]
    return [*query, *_fields(operation.get("requestBody", {}), document)]


def _fields(body: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the fields of a request's body; one that may be left out is described as one of two."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    references = [each.get("$ref", "") for each in (schema, *schema.get("anyOf", ()))]
    names = [reference.rpartition("/")[2] for reference in references if reference]
    return [field for name in names for field in document["components"]["schemas"][name]["properties"]]
