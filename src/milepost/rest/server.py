"""Serves a job from the driver's process, on a thread of its own; ends with the job."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import uvicorn

from milepost.config import Config, Rest
from milepost.config.rest import is_loopback
from milepost.errors import PreflightError
from milepost.job import registry
from milepost.rest.access import Rules, hosts_of
from milepost.rest.app import application
from milepost.rest.operations import Operations
from milepost.rest.patience import ImpatientProtocol
from milepost.rest.served import RunningJob, Served

FETCH_TIMEOUT = 10.0
"""How long a result that nobody has fetched keeps the server of an ended job."""
_PORTS_TRIED = 100
_STOP_TIMEOUT = 5.0
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Address:
    """Where a job is reached, and what opens it."""

    url: str
    token: str

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"Address({self.url!r})"

    @property
    def link(self) -> str:
        """The address for a browser, with the token in it."""
        return f"{self.url}/?token={self.token}"


@dataclass(frozen=True, slots=True)
class Listener:
    """A port that is taken before anything starts, so that a taken one is refused at once."""

    rest: Rest
    socket: socket.socket

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
    token = str(rest.token) if rest.token is not None else secrets.token_urlsafe(32)
    rules = Rules(
        token=token,
        hosts=hosts_of(rest.host, rest.hosts, is_local=is_loopback(rest.host)),
        cookie=f"milepost-{job.job_id[:12]}",
    )
    operations = Operations()
    server = uvicorn.Server(_settings(application(Served(job, config), operations, rules), rest))
    with ExitStack() as running:
        token_file = running.enter_context(registry.kept_token(job.job_id, token))
        entry = registry.Entry(
            job_id=job.job_id,
            name=config.name,
            directory=config.checkpointing.dir,
            address=listener.url,
            token_file=str(token_file),
            pid=os.getpid(),
            certificate=rest.tls.certificate if rest.tls else None,
        )
        running.callback(_start(server, listener.socket))
        running.enter_context(registry.registered(entry))
        yield Address(listener.url, token)
        operations.wait_until_fetched(FETCH_TIMEOUT)


def _start(server: uvicorn.Server, bound: socket.socket) -> Callable[[], None]:
    """Start the server's thread and return what ends it."""
    thread = threading.Thread(target=server.run, args=([bound],), name="rest", daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(_STOP_TIMEOUT)

    return stop


def _settings(app: Callable[..., object], rest: Rest) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=200,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16 * 1024,
        ssl_certfile=rest.tls.certificate if rest.tls else None,
        ssl_keyfile=rest.tls.key if rest.tls else None,
    )


@contextmanager
def _bound(host: str, ports: range | list[int]) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as bound:
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
