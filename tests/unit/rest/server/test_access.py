"""The decision about one request from its first lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from milepost.rest.server.access import (
    MAX_BODY,
    RequestHead,
    Role,
    Rules,
    find_refusal,
    hosts_of,
    is_first_visit,
    role_of,
    token_in_address,
)

RULES = Rules(
    token="a-token-of-some-length",
    read_token="a-token-to-look",
    hosts=frozenset({"localhost"}),
    cookie="milepost-1",
)
RIGHT = {"host": "localhost", "authorization": "Bearer a-token-of-some-length"}


def status(method: str = "GET", path: str = "/jobs", query: str = "", **headers: str) -> int:
    given = RIGHT | {name.replace("_", "-"): value for name, value in headers.items()}
    refused = find_refusal(RequestHead(method=method, path=path, query=query, headers=given), RULES)
    return 200 if refused is None else refused.status


def test_the_right_one_comes_in():
    assert status() == 200


def test_the_port_in_the_host_may_be_a_tunnels():
    assert status(host="localhost:9000") == 200


def test_the_scheme_of_the_token_is_written_as_one_likes():
    assert status(authorization="bearer a-token-of-some-length") == 200


def test_a_cookie_is_as_good_as_a_header():
    assert status(authorization="", cookie="other=1; milepost-1=a-token-of-some-length") == 200
    assert status(authorization="", cookie="milepost-2=a-token-of-some-length") == 401


@pytest.mark.parametrize("cookie", ["", "milepost-1", "milepost-1=", "=;=;", "milepost-1=wrong"])
def test_another_cookie_is_not(cookie: str):
    assert status(authorization="", cookie=cookie) == 401


def test_the_host_is_looked_at_first():
    assert status(host="evil.example", authorization="") == 403


def test_a_long_body_is_refused_before_it_is_read():
    assert status("POST", content_length=str(MAX_BODY + 1), content_type="application/json") == 413
    assert status("POST", content_length=str(MAX_BODY), content_type="application/json; charset=UTF-8") == 200


def test_only_a_get_of_the_first_page_is_a_first_visit():
    assert is_first_visit(RequestHead(method="GET", path="/", query="token=x"))
    assert not is_first_visit(RequestHead(method="GET", path="/", query=""))
    assert not is_first_visit(RequestHead(method="GET", path="/jobs", query="token=x"))
    assert not is_first_visit(RequestHead(method="POST", path="/", query="token=x"))
    assert not is_first_visit(RequestHead(method="GET", path="/", query="&".join(["a=1"] * 50)))


def test_names_of_a_server():
    assert hosts_of("127.0.0.1", ("Proxy.Example",), is_local=True) == {
        "127.0.0.1",
        "::1",
        "localhost",
        "proxy.example",
    }
    assert hosts_of("10.0.0.5", (), is_local=False) == {"10.0.0.5"}


def test_rules_do_not_show_the_token():
    assert "a-token" not in repr(RULES)


def test_who_may_only_look_may_look():
    assert status(authorization="Bearer a-token-to-look") == 200
    assert status("HEAD", authorization="Bearer a-token-to-look") == 200
    for method in ("POST", "PATCH", "DELETE", "PUT", "OPTIONS"):
        assert status(method, authorization="Bearer a-token-to-look") == 403


def test_of_two_tokens_the_one_that_opens_more_counts():
    headers = {"authorization": "Bearer a-token-to-look", "cookie": "milepost-1=a-token-of-some-length"}
    assert role_of(RequestHead(method="GET", path="/jobs", headers=headers), RULES) is Role.ADMIN


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer", "Bearer a-token-to-loo"])
def test_where_nobody_may_only_look_no_token_does(given: str):
    rules = Rules(token="a-token-of-some-length", hosts=frozenset({"localhost"}), cookie="c")
    assert role_of(RequestHead(method="GET", path="/", headers={"authorization": given}), rules) is None


def test_a_visit_keeps_the_token_it_came_with():
    def visit(query: str) -> str | None:
        return token_in_address(RequestHead(method="GET", path="/", query=query), RULES)

    assert visit("token=a-token-to-look") == "a-token-to-look"
    assert visit("token=a-token-of-some-length") == "a-token-of-some-length"
    assert visit("token=wrong") is None


def test_where_nothing_can_be_changed_no_token_helps():
    rules = replace(RULES, read_only="This is history.")
    refused = find_refusal(RequestHead(method="POST", path="/jobs", headers=RIGHT), rules)
    assert refused is not None
    assert (refused.status, refused.message) == (403, "This is history.")
    assert find_refusal(RequestHead(method="GET", path="/jobs", headers=RIGHT), rules) is None
