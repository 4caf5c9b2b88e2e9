"""The page for people who look for a path."""

from __future__ import annotations

from tests.unit.rest.asgi import Server

from milepost.rest.milepost import api

DOCUMENT = {
    "components": {"schemas": {"Body": {"properties": {"drain": {}, "<x>": {}}}}},
    "paths": {
        "/jobs/{jobid}/stop": {
            "post": {
                "tags": ["savepoints"],
                "summary": "Finish & save.",
                "parameters": [
                    {"name": "mode", "in": "query"},
                    {"name": "jobid", "in": "path"},
                ],
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"anyOf": [{"$ref": "#/components/schemas/Body"}, {"type": "null"}]}
                        }
                    }
                },
                "responses": {"202": {"description": "The id."}, "404": {"description": "None."}},
            }
        },
        "/v1/jobs": {"get": {"summary": "Again.", "responses": {"200": {"description": "Again."}}}},
    },
}


def test_the_page_names_the_paths_and_has_no_script(server: Server):
    page = server.get("/milepost/api")
    assert page.headers["content-type"].startswith("text/html")
    assert "/jobs/{jobid}/checkpoints" in page.text
    assert "/milepost/jobs/{jobid}/participants" in page.text
    assert "<script" not in page.text
    assert " style=" not in page.text
    assert server.get("/milepost/api", authorization="").status == 401


def test_a_path_is_a_row_with_what_it_takes():
    page = api.render_page(DOCUMENT)
    assert "<h2>Savepoints</h2>" in page
    assert "<td>POST</td><td><code>/jobs/{jobid}/stop</code></td>" in page
    assert ">The id.</td>" in page
    assert "<code>?mode=</code> <code>drain</code> <code>&lt;x&gt;</code>" in page
    assert "202, 404" in page


def test_paths_with_a_version_are_told_once():
    assert "Again." not in api.render_page(DOCUMENT)


def test_what_is_refused_is_told_by_what_it_refuses():
    refused = {"summary": "Refuse a <jar>.", "responses": {"403": {"description": "Not here."}}}
    page = api.render_page({"components": {"schemas": {}}, "paths": {"/jars/upload": {"post": refused}}})
    assert "Refuse a &lt;jar&gt;." in page
