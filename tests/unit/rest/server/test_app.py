"""Requests of every bad kind (B38): a short error in Flink's shape, no stack trace, nothing touched."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from tests.unit.rest.asgi import JOB, READ_TOKEN, TOKEN, Answer, Server, routes

from milepost.rest.server.auth import AuthMiddleware

PATHS = [
    "/overview",
    "/config",
    "/jobs",
    "/jobs/overview",
    f"/jobs/{JOB}",
    f"/jobs/{JOB}/status",
    f"/jobs/{JOB}/config",
    f"/jobs/{JOB}/exceptions",
    f"/jobs/{JOB}/checkpoints",
    f"/jobs/{JOB}/checkpoints/config",
]


@pytest.mark.parametrize("path", PATHS)
def test_each_path_answers_with_and_without_a_version(path: str, server: Server):
    plain, versioned = server.get(path), server.get(f"/v1{path}")
    assert (plain.status, versioned.status) == (200, 200)
    assert plain.json.keys() == versioned.json.keys()


@pytest.mark.parametrize("path", ["/v2/jobs", "/v1/v1/jobs", "/nope", "/jobs/", "/docs", "/redoc"])
def test_what_is_not_there_is_not_found(path: str, server: Server):
    answer = server.get(path)
    assert (answer.status, answer.json) == (404, {"errors": ["Not found."]})


ESCAPES = [
    "..",
    "../..",
    "..%2f..%2fetc%2fpasswd",
    "..%252f..%252fetc%252fpasswd",
    "/etc/passwd",
    "a\\..\\b",
    "a\x00b",
]
HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred", "' OR 1=1 --", "x" * 5000, JOB.upper(), JOB[:-1]]


@pytest.mark.parametrize("text", ESCAPES + HOSTILE)
@pytest.mark.parametrize(
    "where", ["/jobs/{}", "/jobs/{}/checkpoints", f"/jobs/{JOB}/checkpoints/details/{{}}"]
)
def test_an_id_is_an_id(text: str, where: str, server: Server):
    answer = server.get(where.format(text))
    assert answer.status in (400, 404)
    assert list(answer.json) == ["errors"]
    assert len(answer.text) < 300
    assert text not in answer.text or len(text) < 3


def test_another_job_is_not_here(server: Server):
    other = "f" * 32
    answer = server.get(f"/jobs/{other}/checkpoints")
    assert (answer.status, answer.json) == (404, {"errors": [f"Job {other} not found"]})


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/jobs"), ("GET", f"/jobs/{JOB}/stop"), ("PUT", f"/jobs/{JOB}"), ("POST", "/jobs")],
)
def test_another_method_is_not_allowed(method: str, path: str, server: Server):
    answer = server.ask(method, path)
    assert (answer.status, answer.json) == (405, {"errors": ["Method not allowed."]})


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def allowed(answer: Answer) -> set[str]:
    return {each.strip() for each in answer.headers["allow"].split(",") if each}


def test_allow_names_every_method_that_the_path_answers(server: Server):
    named: dict[str, set[str]] = {}
    for method, path in routes():
        named.setdefault(re.sub(r"{\w+}", JOB, path), set()).add(method)
    for path, methods in named.items():
        answers = {method: server.ask(method, path) for method in METHODS}
        refused = {method: answer for method, answer in answers.items() if answer.status == 405}
        assert {"HEAD", "OPTIONS"} <= refused.keys(), path
        told = {method: allowed(answer) for method, answer in refused.items()}
        assert told == dict.fromkeys(refused, methods - refused.keys()), path


BODIES = [
    b"{",
    b"[]",
    b'"text"',
    b'{"triggerId": 5}',
    b'{"triggerId": "../x"}',
    b'{"unknown": 1}',
    b'{"checkpointType": "INCREMENTAL"}',
    b"\xff\xfe",
    b"[" * 2000,
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_another_shape_is_a_bad_request(body: bytes, server: Server):
    answer = server.post(f"/jobs/{JOB}/checkpoints", body)
    assert answer.status == 400, answer.text
    assert answer.json["errors"][0].startswith("Request did not match expected format")
    assert "Traceback" not in answer.text
    assert server.job.asked == []


def test_a_body_that_is_too_large_is_refused(server: Server):
    assert server.post(f"/jobs/{JOB}/checkpoints", b" " * (10 * 1024 * 1024)).status == 413


def test_a_body_without_its_length_is_measured_too(server: Server):
    answer = server.post(
        f"/jobs/{JOB}/checkpoints", b" " * 100_000, content_length="", transfer_encoding="chunked"
    )
    assert answer.status == 413


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_form_is_not_json(kind: str, server: Server):
    assert server.post(f"/jobs/{JOB}/checkpoints", {}, content_type=kind).status == 415


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \xe4\xf6"])
def test_without_the_token_nothing_is_told(given: str, server: Server):
    answer = server.get("/jobs", authorization=given)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert JOB not in answer.text


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/nope"])
def test_every_path_wants_the_token(path: str, server: Server):
    assert server.get(path, authorization="").status == 401


def test_who_opens_the_dashboard_without_a_token_is_told_how_to(server: Server):
    said = server.get("/", authorization="").json["errors"][0]
    assert "milepost run printed" in said
    assert "/?token=<token>" in said


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8081", "", "[::1", "a@localhost"])
def test_another_host_is_refused_although_the_token_is_right(host: str, server: Server):
    expected = 200 if host == "a@localhost" else 403
    assert server.get("/jobs", host=host).status == expected


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:9999", "null"])
def test_another_origin_is_refused(origin: str, server: Server):
    assert server.post(f"/jobs/{JOB}/checkpoints", {}, origin=origin).status == 403
    assert server.job.asked == []


def test_a_browser_of_another_site_is_refused(server: Server):
    assert server.get("/jobs", sec_fetch_site="cross-site").status == 403
    assert server.get("/jobs", sec_fetch_site="same-site").status == 403


def test_our_own_origin_may_ask(server: Server):
    assert server.get("/jobs", origin="http://localhost:8081").status == 200


def test_no_other_site_is_ever_allowed_to_read(server: Server):
    headers = server.get("/jobs").headers
    assert not [name for name in headers if name.startswith("access-control")]
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


def test_the_first_visit_turns_the_token_into_a_cookie(server: Server):
    answer = server.get(f"/?token={TOKEN}", authorization="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    page = server.get("/", authorization="", cookie=cookie.partition(";")[0])
    assert page.status == 200
    assert "web/main.js" in page.text
    assert TOKEN not in page.text


def test_elsewhere_the_token_in_the_address_counts_for_nothing(server: Server):
    assert server.get(f"/jobs?token={TOKEN}", authorization="").status == 401
    assert server.post(f"/?token={TOKEN}", authorization="").status == 401


def test_a_wrong_token_in_the_address_is_refused(server: Server):
    assert server.get("/?token=wrong", authorization="").status == 401


def test_what_goes_wrong_inside_is_not_told(server: Server, caplog: pytest.LogCaptureFixture):
    del server.job.moved_at
    answer = server.get("/jobs/overview")
    assert (answer.status, answer.json) == (500, {"errors": ["Internal server error."]})
    assert "moved_at" in caplog.text


def test_every_change_leaves_a_line(server: Server):
    server.get("/jobs")
    server.ask("PATCH", f"/jobs/{JOB}?mode=cancel")
    server.post(f"/jobs/{JOB}/checkpoints", {"triggerId": "../x"})
    server.post(f"/jobs/{JOB}/checkpoints", {}, authorization="")
    lines = [
        json.loads(line) for line in (server.folder / "milepost" / "audit.jsonl").read_text().splitlines()
    ]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("PATCH", f"/jobs/{JOB}", 202),
        ("POST", f"/jobs/{JOB}/checkpoints", 400),
    ]
    assert lines[1]["parameters"] == {"triggerId": "../x"}
    assert [line["principal"] for line in lines] == ["admin", "admin"]
    assert TOKEN not in str(lines)


def test_what_is_refused_leaves_a_line_elsewhere(server: Server):
    server.post(f"/jobs/{JOB}/stop", {}, authorization="")
    server.post(f"/jobs/{JOB}/stop", {}, authorization=f"Bearer {READ_TOKEN}")
    server.post(f"/jobs/{JOB}/stop", {}, host="evil.example", authorization="")
    lines = (server.folder / "milepost" / "refused.jsonl").read_text().splitlines()
    assert [(each["principal"], each["status"]) for each in map(json.loads, lines)] == [
        (None, 401),
        ("read", 403),
        (None, 403),
    ]
    assert not (server.folder / "milepost" / "audit.jsonl").exists()


CHANGES = [(method, path) for method, path in routes() if method != "GET"]


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_the_reading_token_changes_nothing(method: str, path: str, server: Server):
    target = re.sub(r"{\w+}", JOB, path)
    answer = server.ask(method, target, b"{}", authorization=f"Bearer {READ_TOKEN}")
    assert (answer.status, answer.json) == (
        403,
        {"errors": ["This token is read-only; changes require the admin token."]},
    )
    assert server.job.asked == []


@pytest.mark.parametrize("path", PATHS)
def test_the_reading_token_sees_everything(path: str, server: Server):
    assert server.get(path, authorization=f"Bearer {READ_TOKEN}").status == 200


def test_the_reading_token_becomes_a_cookie_of_its_own(server: Server):
    visit = server.get(f"/?token={READ_TOKEN}", authorization="")
    cookie = visit.headers["set-cookie"].partition(";")[0]
    assert READ_TOKEN in cookie
    assert server.get("/jobs", authorization="", cookie=cookie).status == 200
    assert server.post(f"/jobs/{JOB}/stop", {}, authorization="", cookie=cookie).status == 403


def test_openapi_names_every_path(server: Server):
    paths = server.get("/openapi.json").json["paths"]
    assert {"/jobs/{jobid}/savepoints", "/v1/jobs/{jobid}/stop", "/savepoint-disposal"} <= paths.keys()


def test_browsers_are_told_to_encrypt_only_where_the_name_is_ours_alone(server: Server):
    def headers(*, is_encrypted: bool, is_local: bool) -> dict[bytes, bytes]:
        told = replace(server.app._rules, is_encrypted=is_encrypted, is_local=is_local)
        return dict(AuthMiddleware(server.app._app, told, None)._headers)

    assert b"strict-transport-security" in headers(is_encrypted=True, is_local=False)
    assert b"strict-transport-security" not in headers(is_encrypted=True, is_local=True)
    assert b"strict-transport-security" not in headers(is_encrypted=False, is_local=False)
