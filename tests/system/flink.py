"""Flink's own command line and the files of its dashboard, as `make` has gathered them from Maven for the tests."""

from __future__ import annotations

import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from milepost.rest.client import Client
from milepost.services.java import TOOL_FLAGS, child_environment, find_java

JARS = Path(__file__).parent.parent.parent / ".cache" / "flink"
TIMEOUT_S = 60.0


def jars() -> list[Path]:
    """Return Flink's jars, or say how to get them."""
    found = sorted(JARS.glob("*.jar"))
    assert found, f"{JARS} is empty: run `make {JARS.relative_to(JARS.parent.parent)}/.gathered`"
    return found


class CommandLine:
    """`flink`, pointed at one address; the token goes by the variable that Flink has for headers."""

    def __init__(self, folder: Path, address: str, token: str) -> None:
        parts = urlsplit(address)
        (folder / "config.yaml").write_text(f"rest:\n  address: {parts.hostname}\n  port: {parts.port}\n")
        self._folder = folder
        self._environment = child_environment(os.pathsep.join(map(str, jars()))) | {
            "FLINK_CONF_DIR": str(folder),
            "FLINK_REST_CLIENT_HEADERS": f"Authorization:Bearer {token}",
        }

    def __call__(self, *arguments: str) -> str:
        """Run one command to its end and return what it prints."""
        line = [str(find_java()), *TOOL_FLAGS, "org.apache.flink.client.cli.CliFrontend", *arguments]
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
            env=self._environment,
            cwd=self._folder,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout


def dashboard(folder: Path) -> Path:
    """Unpack the files of Flink's dashboard and return where its first page is."""
    (archive,) = (path for path in jars() if path.name.startswith("flink-runtime-web-"))
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder, [name for name in opened.namelist() if name.startswith("web/")])
    return folder / "web"


class _Passing(SimpleHTTPRequestHandler):
    """Serves the dashboard's files, and passes everything else on to the job with its token."""

    client: ClassVar[Client]
    refused: ClassVar[list[str]]

    def do_GET(self) -> None:
        if Path(self.translate_path(self.path)).is_file() or self.path.startswith("/?") or self.path == "/":
            super().do_GET()
            return
        asked = Request(
            f"{self.client.address}{self.path}", headers={"Authorization": f"Bearer {self.client.token}"}
        )
        try:
            with urlopen(asked, timeout=10) as response:
                self._pass(response.status, response.read())
        except HTTPError as error:
            with error:
                self.refused.append(f"{self.path}: {error.code}")
                self._pass(error.code, error.read())

    def _pass(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Passed:
    """Flink's dashboard before a job."""

    url: str
    refused: list[str]
    """What the dashboard asked and the job refused."""


@contextmanager
def dashboard_before(client: Client, folder: Path) -> Iterator[Passed]:
    """Serve Flink's dashboard on a free port, with the job behind it."""
    refused: list[str] = []
    handler = type("Passing", (_Passing,), {"client": client, "refused": refused})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Passed(f"http://127.0.0.1:{server.server_address[1]}/", refused)
        finally:
            server.shutdown()
            thread.join()
