"""Serves a job from the driver's process, on a thread of its own; ends with the job."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import uvicorn

from milepost.checkpoint.store.store import Store
from milepost.config import Config, Rest
from milepost.config.rest import is_loopback
from milepost.errors import PreflightError
from milepost.job import process_identity, registry
from milepost.rest.server.access import Rules, hosts_of
from milepost.rest.server.app import application
from milepost.rest.server.audit import Audit
from milepost.rest.server.auth import Guard
from milepost.rest.server.connection_limit import Door
from milepost.rest.server.cpu_budget import ThriftyLoop
from milepost.rest.server.header_timeout import protocol_behind
from milepost.rest.view.live_view import RunningJob, Served
from milepost.rest.view.operations import Operations

FETCH_TIMEOUT = 10.0
"""How long a result that nobody has fetched keeps the server of an ended job."""
_PORTS_TRIED = 100
_STOP_TIMEOUT = 5.0
_BACKLOG = 128


TokenOrigin = Literal["generated", "configured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a job is reached, and what opens it."""

    url: str
    token: str
    read_token: str
    token_file: str = ""
    """Holds the token where only the user can read it; empty for a server that keeps no files."""
    read_token_file: str = ""
    token_origin: TokenOrigin = "generated"

    def __repr__(self) -> str:
        """Leave the tokens out."""
        return f"Address({self.url!r})"

    @property
    def link(self) -> str:
        """The address for a browser, with the token in it."""
        return f"{self.url}/?token={self.token}"


@dataclass(frozen=True, slots=True)
class Listener:
    """A port that is taken before anything starts, so that a taken one is refused at once."""

    rest: Rest
    socket: Door

    @classmethod
    @contextmanager
    def open(cls, rest: Rest | None) -> Iterator[Listener]:
        """Take the configured port; without a configuration the first free one from the default on."""
        chosen = rest or Rest()
        ports = [chosen.port] if rest is not None else range(chosen.port, chosen.port + _PORTS_TRIED)
        _require_certificate(chosen)
        registry.folder()  # refuses what could not be trusted with the token, while nothing has started
        with _bound(chosen.host, ports) as bound:
            yield cls(chosen, bound)

    @property
    def url(self) -> str:
        """The address as a client writes it."""
        host = f"[{self.rest.host}]" if ":" in self.rest.host else self.rest.host
        return f"{'https' if self.rest.tls else 'http'}://{host}:{self.socket.getsockname()[1]}"


@contextmanager
def serving(listener: Listener, job: RunningJob, config: Config) -> Iterator[Address]:
    """Serve a job until the block ends; then for a moment the results that were not fetched yet."""
    rest = listener.rest
    rules = _rules(rest, job.job_id)
    operations = Operations()
    served = Served(job, config)
    app = application(served, operations, rules, Audit(Store.at(config.checkpointing.dir)))
    server = _server_of(app, listener)
    with ExitStack() as running:
        running.enter_context(served.watch.running())
        assert rules.read_token is not None  # there is always one
        files = running.enter_context(registry.store_tokens(job.job_id, rules.token, rules.read_token))
        entry = registry.Entry(
            job_id=job.job_id,
            name=config.name,
            directory=config.checkpointing.dir,
            address=listener.url,
            token_file=str(files[0]),
            read_token_file=str(files[1]),
            pid=os.getpid(),
            born=process_identity.start_token(os.getpid()) or "",
            certificate=rest.tls.certificate if rest.tls else None,
        )
        running.callback(_start(server, listener.socket))
        running.enter_context(registry.register(entry))
        yield Address(
            url=listener.url,
            token=rules.token,
            read_token=rules.read_token,
            token_file=entry.token_file,
            read_token_file=entry.read_token_file,
            token_origin="configured" if rest.token else "generated",
        )
        operations.wait_until_fetched(FETCH_TIMEOUT)


@contextmanager
def showing(listener: Listener, served: Served) -> Iterator[Address]:
    """Serve what is left of a job until the block ends; nothing can be changed, nothing is written or registered."""
    # A browser sends a cookie to every port of a host: that of the job's own server, if it runs, must stay.
    cookie = f"milepost-history-{listener.socket.getsockname()[1]}"
    rules = replace(_rules(listener.rest, served.job.job_id), read_only=served.no_changes, cookie=cookie)
    app = application(served, Operations(), rules, None)
    stop = _start(_server_of(app, listener), listener.socket)
    try:
        yield Address(url=listener.url, token=rules.token, read_token=rules.read_token or "")
    finally:
        stop()


def _rules(rest: Rest, job_id: str) -> Rules:
    is_local = is_loopback(rest.host)
    return Rules(
        token=str(rest.token or secrets.token_urlsafe(32)),
        read_token=str(rest.read_token or secrets.token_urlsafe(32)),
        hosts=hosts_of(rest.host, rest.hosts, is_local=is_local),
        cookie=f"milepost-{job_id[:12]}",
        is_encrypted=rest.tls is not None,
        is_local=is_local,
    )


def _start(server: uvicorn.Server, door: Door) -> Callable[[], None]:
    """Start the server's thread and return what ends it."""
    thread = threading.Thread(target=_run, args=(server, door), name="rest", daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(_STOP_TIMEOUT)

    return stop


def _run(server: uvicorn.Server, door: Door) -> None:
    loop = ThriftyLoop(begin_round=door.begin_round)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(server.serve([door]))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _server_of(app: Guard, listener: Listener) -> uvicorn.Server:
    """Put the application behind its door, which lets nobody in while the application is busy."""
    listener.socket.is_busy = app.is_busy
    return uvicorn.Server(_settings(app, listener.rest, protocol_behind(listener.socket)))


def _settings(app: Guard, rest: Rest, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16 * 1024,
        ssl_certfile=rest.tls.certificate if rest.tls else None,
        ssl_keyfile=rest.tls.key if rest.tls else None,
    )


@contextmanager
def _bound(host: str, ports: range | list[int]) -> Iterator[Door]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with Door(family) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in ports:
            try:
                bound.bind((host, port))
                bound.listen(_BACKLOG)
            except OSError as error:
                reason = error.strerror or str(error)
            else:
                yield bound
                return
    last = f"to {ports[-1]} " if len(ports) > 1 else ""
    raise PreflightError(
        f"The REST interface cannot listen at {host}:{ports[0]} {last}".strip(),
        why=reason,
        fix="Stop what uses the port, or choose another with --set rest.bind=127.0.0.1:0, which takes any free one",
    )


def _require_certificate(rest: Rest) -> None:
    if rest.tls is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(rest.tls.certificate, rest.tls.key)
    except (OSError, ssl.SSLError) as error:
        raise PreflightError(
            f"rest.tls cannot be used: {rest.tls.certificate} with {rest.tls.key}",
            why=str(error),
            fix="Name a PEM certificate and the key that belongs to it",
        ) from None
