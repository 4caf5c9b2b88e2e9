"""What a flood of requests costs the stream: rows per second without and with it, alternating, in one run.

The flood is a process of its own on the same machine: 1,000 requests a second over 64 connections, and 300 connections
that send a header's first half and wait. What it uses of the processor itself is part of the cost and is printed.
"""

from __future__ import annotations

import argparse
import json
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from throughput import TOPIC, Bench, produce

from milepost.config import Rest
from milepost.job.launch import Recipe
from milepost.job.session import close_session, open_session, spark_conf
from milepost.job.status import JobStatus
from milepost.rest.server import Listener, serving
from milepost.services import Services

RATE = 1000
CONNECTIONS = 64
SLOW = 300
GOAL = 0.10


def run(bench: Bench, name: str, *, is_loaded: bool) -> tuple[float, dict[str, Any]]:
    """Run the pipeline to its end behind its server, and return rows per second and what the flood says."""
    config, folder = bench.config(name), bench.directory
    ready = Recipe(spark=bench.spark, config=config, folder=folder, log=folder / "log").prepare()
    with ExitStack() as stack:
        listener = stack.enter_context(Listener.open(Rest(bind="127.0.0.1:0")))
        job = ready.start()
        address = stack.enter_context(serving(listener, job, config))
        flood: dict[str, Any] = {}
        if is_loaded:
            stack.enter_context(flooded(address.url, address.token, job.job_id, flood))
        started = time.monotonic()
        status = job.wait()
        seconds = time.monotonic() - started
    if status is not JobStatus.FINISHED:
        raise SystemExit(f"the job ended as {status.value}")
    return bench.records / seconds, flood


@contextmanager
def flooded(url: str, token: str, job_id: str, said: dict[str, Any]) -> Iterator[None]:
    """Flood the server until the block ends; then `said` holds what the flood has counted."""
    command = [sys.executable, __file__, "--flood", f"{url} {token} {job_id}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            said.update(json.loads(process.communicate()[0] or "{}"))


@dataclass
class Flood:
    """The side of those who ask."""

    port: int
    request: bytes
    waiting: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    idle: list[socket.socket] = field(default_factory=list)
    slow: list[socket.socket] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    def connect(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=2)

    def begin(self) -> None:
        """Open them all."""
        self.idle = [self.connect() for _ in range(CONNECTIONS)]
        for _ in range(SLOW):
            self.slow.append(self.connect())
            self.slow[-1].sendall(b"GET /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")

    def go_on(self) -> None:
        """Send what is due, every second also what the slow ones send, until told to end."""
        began = slowly = time.monotonic()
        due = 0
        while not self.is_over:
            now = time.monotonic()
            due = int((now - began) * RATE)
            while self.idle and self.count["sent"] + self.count["held back"] < due:
                self.send(self.idle.pop())
            if not self.idle:
                self.count["held back"] = due - self.count["sent"]
            if now - slowly > 1:
                slowly = now
                self.trickle()
            for key, _ in self.waiting.select(0.002):
                self.receive(key.fileobj)  # type: ignore[arg-type]
        self.count["seconds"] = int(time.monotonic() - began)

    def send(self, connection: socket.socket) -> None:
        """Ask once."""
        try:
            connection.sendall(self.request)
            self.waiting.register(connection, selectors.EVENT_READ)
            self.count["sent"] += 1
        except OSError:
            self.renew(connection)

    def receive(self, connection: socket.socket) -> None:
        """Take an answer; one that was shown out comes again."""
        try:
            answer = connection.recv(65536)
        except OSError:
            answer = b""
        if answer.startswith(b"HTTP/"):
            self.count[answer[9:12].decode()] += 1
        if answer.endswith(b"\r\n\r\n"):
            return  # the body comes by itself
        self.waiting.unregister(connection)
        if answer:
            self.idle.append(connection)
        else:
            self.renew(connection)

    def renew(self, connection: socket.socket) -> None:
        """Come in by another connection."""
        connection.close()
        self.count["shown out"] += 1
        try:
            self.idle.append(self.connect())
        except OSError:
            self.count["kept out"] += 1

    def trickle(self) -> None:
        """Send a byte on each slow connection, and replace those that were closed."""
        for number, connection in enumerate(self.slow):
            try:
                connection.sendall(b"x")
            except OSError:
                self.count["slow replaced"] += 1
                connection.close()
                try:
                    self.slow[number] = self.connect()
                    self.slow[number].sendall(b"GET /jobs HTTP/1.1\r\nX-")
                except OSError:
                    self.count["kept out"] += 1


def flood(text: str) -> None:
    """Be the flood until a signal comes."""
    url, token, job_id = text.split()
    # Small enough to come in one piece, so that an answer is an answer.
    request = (
        f"GET /jobs/{job_id}/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    attack = Flood(int(url.rpartition(":")[2]), request.encode())
    attack.begin()
    signal.signal(signal.SIGTERM, lambda *_: setattr(attack, "is_over", True))
    print("begun", flush=True)
    used = time.process_time()
    attack.go_on()
    print(json.dumps({**attack.count, "processor seconds": round(time.process_time() - used, 1)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--flood", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.flood:
        flood(chosen.flood)
        return
    directory = Path(tempfile.mkdtemp(prefix="milepost-rest-load-"))
    try:
        with Services(directory / "services") as endpoints:
            produce(endpoints, chosen.records)
            log = directory / "log"
            spark = open_session("rest-load", spark_conf("local[2]", {}, log), log)
            try:
                measure(
                    Bench(spark, endpoints, directory, chosen.records, chosen.records // 10), chosen.rounds
                )
            finally:
                close_session(spark)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(bench: Bench, rounds: int) -> None:
    """Print every round, and what the flood costs by the medians."""
    print(f"{bench.records:,} records of {TOPIC}; two runs warm up")
    for number in range(2):
        run(bench, f"warm{number}", is_loaded=False)
    rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds):
        # The machine gets faster as it warms up: neither side is always the later one.
        for is_loaded in (False, True) if number % 2 else (True, False):
            rate, said = run(bench, f"r{number}-{int(is_loaded)}", is_loaded=is_loaded)
            rates[is_loaded].append(rate)
            print(f"{'flood' if is_loaded else 'quiet'}  {rate:10,.0f} rows/s  {said or ''}", flush=True)
    quiet, loaded = statistics.median(rates[False]), statistics.median(rates[True])
    cost = 1 - loaded / quiet
    print(f"cost of the flood: {cost:.1%} of {quiet:,.0f} rows/s; goal: less than {GOAL:.0%}")


if __name__ == "__main__":
    main()
