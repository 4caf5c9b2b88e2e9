"""`/milepost/api`: the description of every path as an HTML page without scripts."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from milepost.rest.server.openapi import operations

router = APIRouter(tags=["milepost"])

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>REST interface of Milepost</title>
<link rel="icon" href="/web/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/web/style.css"></head>
<body><main><h1>REST interface</h1>
<p>Flink's paths are also available under <code>/v1</code>. An error is <code>{{"errors": ["…"]}}</code>.
OpenAPI description: <a href="/openapi.json">/openapi.json</a>. <a href="/">Dashboard</a>.</p>
{sections}</main></body></html>
"""
_SECTION = """<section class="card"><h2>{tag}</h2>
<div class="table"><table>
<thead><tr><th>Method</th><th>Path</th><th>Description</th><th>Parameters</th><th>Status</th></tr></thead>
<tbody>{rows}</tbody></table></div></section>
"""
_ROW = """<tr><td>{method}</td><td><code>{path}</code></td>
<td class="wide">{summary}</td><td class="wide">{takes}</td><td class="wide">{answers}</td></tr>
"""


@router.get("/milepost/api", response_class=HTMLResponse)
def page(request: Request) -> HTMLResponse:
    """Return the description of the REST interface as a page."""
    return HTMLResponse(render_page(request.app.openapi()))


def render_page(document: dict[str, Any]) -> str:
    """Return the page for an OpenAPI description."""
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
        summary=escape(_description(operation)),
        takes=" ".join(f"<code>{escape(name)}</code>" for name in _parameter_names(operation, document)),
        answers=escape(", ".join(operation["responses"])),
    )


def _description(operation: dict[str, Any]) -> str:
    """Return the description of the successful response, or the summary if there is none."""
    for status, response in operation["responses"].items():
        if status < "300":
            return str(response["description"])
    return str(operation["summary"])


def _parameter_names(operation: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the names of the parameters in the query and in the body."""
    query = [f"?{each['name']}=" for each in operation.get("parameters", ()) if each["in"] == "query"]
    return [*query, *_body_fields(operation.get("requestBody", {}), document)]


def _body_fields(body: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the fields of a request's body; an optional body is described as one of two schemas."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    references = [each.get("$ref", "") for each in (schema, *schema.get("anyOf", ()))]
    names = [reference.rpartition("/")[2] for reference in references if reference]
    return [field for name in names for field in document["components"]["schemas"][name]["properties"]]
