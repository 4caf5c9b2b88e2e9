"""Serves a job from the driver's process, on a separate thread, until the job ends."""

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
from milepost.rest.server.app import create_app
from milepost.rest.server.audit import Audit
from milepost.rest.server.auth import AuthMiddleware
from milepost.rest.server.connection_limit import LimitedSocket
from milepost.rest.server.cpu_budget import BudgetedLoop
from milepost.rest.server.header_timeout import protocol_for
from milepost.rest.view.job_view import JobView, RunningJob
from milepost.rest.view.operations import Operations

FETCH_TIMEOUT = 10.0
"""Seconds that the server of an ended job waits for clients to fetch results."""
_PORTS_TRIED = 100
_STOP_TIMEOUT = 5.0
_BACKLOG = 128


TokenOrigin = Literal["generated", "configured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a job and its tokens."""

    url: str
    token: str
    read_token: str
    token_file: str = ""
    """The file with the token, readable by its owner only; empty for a server without files."""
    read_token_file: str = ""
    token_origin: TokenOrigin = "generated"

    def __repr__(self) -> str:
        """Leave the tokens out."""
        return f"Address({self.url!r})"

    @property
    def link(self) -> str:
        """The address for a browser, including the token."""
        return f"{self.url}/?token={self.token}"


@dataclass(frozen=True, slots=True)
class Listener:
    """A port that is bound before anything starts, so that a port in use is refused at once."""

    rest: Rest
    socket: LimitedSocket

    @classmethod
    @contextmanager
    def open(cls, rest: Rest | None) -> Iterator[Listener]:
        """Bind the configured port, or without a configuration the first free one from the default upwards."""
        chosen = rest or Rest()
        ports = [chosen.port] if rest is not None else range(chosen.port, chosen.port + _PORTS_TRIED)
        _require_certificate(chosen)
        registry.folder()  # refuses an unsafe directory for the token before anything starts
        with _bind(chosen.host, ports) as bound:
            yield cls(chosen, bound)

    @property
    def url(self) -> str:
        """The address for clients."""
        host = f"[{self.rest.host}]" if ":" in self.rest.host else self.rest.host
        return f"{'https' if self.rest.tls else 'http'}://{host}:{self.socket.getsockname()[1]}"


@contextmanager
def serve_job(listener: Listener, job: RunningJob, config: Config) -> Iterator[Address]:
    """Serve a job until the block ends, and then briefly the results that were not fetched yet."""
    rest = listener.rest
    rules = _rules(rest, job.job_id)
    operations = Operations()
    view = JobView(job, config)
    app = create_app(view, operations, rules, Audit(Store.at(config.checkpointing.dir)))
    server = _create_server(app, listener)
    with ExitStack() as running:
        running.enter_context(view.monitor.running())
        assert rules.read_token is not None  # always set
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
def serve_stored_view(listener: Listener, view: JobView) -> Iterator[Address]:
    """Serve a stored job until the block ends; read-only, and nothing is written or registered."""
    # A browser sends a cookie to every port of a host: the cookie of the job's own server must survive.
    cookie = f"milepost-history-{listener.socket.getsockname()[1]}"
    rules = replace(_rules(listener.rest, view.job.job_id), read_only=view.read_only_reason, cookie=cookie)
    app = create_app(view, Operations(), rules, None)
    stop = _start(_create_server(app, listener), listener.socket)
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


def _start(server: uvicorn.Server, listening: LimitedSocket) -> Callable[[], None]:
    """Start the server's thread and return the function that stops it."""
    thread = threading.Thread(target=_run, args=(server, listening), name="rest", daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(_STOP_TIMEOUT)

    return stop


def _run(server: uvicorn.Server, listening: LimitedSocket) -> None:
    loop = BudgetedLoop(begin_round=listening.begin_round)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(server.serve([listening]))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _create_server(app: AuthMiddleware, listener: Listener) -> uvicorn.Server:
    """Return a server whose socket accepts no connections while the application is busy."""
    listener.socket.is_busy = app.is_busy
    return uvicorn.Server(_settings(app, listener.rest, protocol_for(listener.socket)))


def _settings(app: AuthMiddleware, rest: Rest, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
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
def _bind(host: str, ports: range | list[int]) -> Iterator[LimitedSocket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with LimitedSocket(family) as bound:
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
        fix="Stop the process that uses the port, or use any free port with --set rest.bind=127.0.0.1:0",
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
            fix="Set a PEM certificate and its key",
        ) from None
