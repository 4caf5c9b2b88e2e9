"""The dashboard's files: what is listed is view, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.rest.asgi import Server

from milepost.rest.milepost.web import PACKAGE, read_assets

WEB = PACKAGE / "web"
FILES = sorted(path for path in WEB.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
LINES = 250


def named(path: Path) -> str:
    return path.relative_to(WEB).as_posix()


def test_the_first_page_is_the_dashboard(server: Server):
    page = server.get("/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'src="web/main.js"' in page.text


@pytest.mark.parametrize("path", FILES, ids=named)
def test_each_file_is_served_with_its_type(path: Path, server: Server):
    answer = server.get(f"/web/{named(path)}")
    kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(kinds[path.suffix])
    assert answer.text == path.read_text(encoding="utf-8")


def test_a_browser_asks_whether_a_file_has_changed(server: Server):
    first = server.get("/web/main.js")
    assert first.headers["cache-control"] == "no-cache"
    again = server.get("/web/main.js", if_none_match=first.headers["etag"])
    assert (again.status, again.text) == (304, "")
    assert server.get("/web/main.js", if_none_match='"another"').status == 200


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "..",
        "../api.py",
        "lib/../main.js",
        "./main.js",
        "/etc/passwd",
        "lib",
        "..%2fapi.py",
        "main.js\x00",
    ],
)
def test_a_name_that_is_not_listed_is_not_found(name: str, server: Server):
    answer = server.get(f"/web/{name}")
    assert (answer.status, answer.json) == (404, {"errors": ["Not found."]})


def test_without_the_token_there_is_no_page(server: Server):
    assert server.get("/", authorization="").status == 401
    assert server.get("/web/main.js", authorization="").status == 401


def test_a_library_is_listed_where_it_was_gathered(tmp_path: Path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "a.js").write_text("1")
    (tmp_path / "web" / "secret.txt").write_text("not a file of the dashboard")
    assert list(read_assets(tmp_path)) == ["a.js"]
    (tmp_path / "jars" / "web").mkdir(parents=True)
    (tmp_path / "jars" / "web" / "chart.umd.js").write_text("2")
    assert read_assets(tmp_path)["vendor/chart.js"].body == b"2"


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_a_script_is_small_and_says_what_it_is(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    assert text.startswith("/** ")


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_no_script_reads_text_as_html_or_code(path: Path):
    forbidden = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|srcdoc)\b"
    assert re.findall(forbidden, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=named)
def test_no_file_comes_from_elsewhere_or_is_inline(path: Path):
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", text) or path.suffix == ".js"


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_each_import_is_a_file_of_the_dashboard(path: Path):
    for wanted in re.findall(r'^import .*from "([^"]+)";$', path.read_text(encoding="utf-8"), re.MULTILINE):
        assert (path.parent / wanted).is_file(), wanted
