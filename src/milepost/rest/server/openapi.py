"""The OpenAPI description of every path: summary, parameters, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

ERRORS = {
    "type": "object",
    "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
    "required": ["errors"],
}
_REFUSALS = {
    "400": "A parameter or the body is invalid; the message names the first error.",
    "401": "The request has no valid token.",
    "403": "The token is read-only, the Host or Origin header names another site, or the server does not support this.",
    "404": "The job, checkpoint, vertex or operation does not exist.",
}
_INVALID = "422"


class DescribedApp(FastAPI):
    """An application whose description matches its actual responses."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, built once."""
        if self.openapi_schema is None:
            document = get_openapi(
                title=self.title, version=self.version, summary=self.summary, routes=self.routes
            )
            self.openapi_schema = complete_description(document)
        return self.openapi_schema


def complete_description(document: dict[str, Any]) -> dict[str, Any]:
    """Return a description in which every operation has a summary and its actual errors."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["ErrorResponseBody"] = ERRORS
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, _, operation in operations(document):
        _describe(path, operation)
    return document


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the path, method and description of every operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _describe(path: str, operation: dict[str, Any]) -> None:
    sentence = operation.pop("description").partition("\n")[0]
    operation["summary"] = sentence
    for parameter in operation.get("parameters", ()):
        _describe_list(parameter)
    responses = operation["responses"]
    for status in [each for each in responses if each.startswith("2")]:
        if sentence.startswith("Refuse "):
            del responses[status]
        else:
            answer = sentence.removeprefix("Return ")
            responses[status]["description"] = answer[0].upper() + answer[1:]
    takes = responses.pop(_INVALID, None) is not None or "requestBody" in operation
    for status, description in _REFUSALS.items():
        if (status != "400" or takes) and (status != "404" or "{" in path):
            reference = {"schema": {"$ref": "#/components/schemas/ErrorResponseBody"}}
            responses[status] = {"description": description, "content": {"application/json": reference}}


def _describe_list(parameter: dict[str, Any]) -> None:
    """Describe a list in the query as comma-separated; repeated parameters are accepted as well."""
    if parameter["in"] == "query" and parameter["schema"].get("type") == "array":
        parameter |= {"style": "form", "explode": False}
