"""What the server may take of the processor: much at once, little in the long run."""

from __future__ import annotations

import threading
import time

import pytest
from tests.unit.rest.asgi import JOB, Clock

from milepost.rest.client import Client
from milepost.rest.server import cpu_budget
from milepost.rest.server.cpu_budget import (
    BudgetedLoop,
    BudgetedSelector,
    CpuBudget,
    CpuMeter,
)
from milepost.rest.server.server import Address


def test_a_burst_is_free_and_the_debt_is_waited_for():
    clock = Clock()
    account = CpuBudget(share=0.1, burst=2.0, clock=clock)
    assert account.spend(2.0) == 0
    assert account.spend(0.01) == pytest.approx(0.1)


def test_in_the_long_run_the_share_is_what_is_used():
    clock = Clock()
    account = CpuBudget(share=0.1, burst=1.0, clock=clock)
    used = 0.0
    while clock.now < 200:
        # Somebody who would always work: 5 ms of it, then the pause.
        clock.now += 0.005
        used += 0.005
        clock.now += account.spend(0.005)
    assert used == pytest.approx(100 * 0.1 + 1.0, rel=0.02)


def test_who_was_idle_does_not_save_up_more_than_a_burst():
    clock = Clock()
    account = CpuBudget(share=0.1, burst=1.0, clock=clock)
    clock.now += 3600
    assert account.spend(1.0) == 0
    assert account.spend(0.1) > 0


def test_no_pause_is_so_long_that_the_end_of_the_job_would_wait():
    assert CpuBudget(clock=Clock()).spend(1000) <= 0.25


def test_what_workers_use_counts_too():
    meter = CpuMeter()
    meter.read()
    done = threading.Event()

    def work() -> None:
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        worked.set()
        done.wait()

    worked = threading.Event()
    thread = threading.Thread(target=work, name="AnyIO worker thread")
    thread.start()
    try:
        assert worked.wait(30)
        time.sleep(cpu_budget._READ_EVERY)  # the meter looks no more often than this
        assert meter.read() >= 0.19
    finally:
        done.set()
        thread.join()


def test_a_selector_pauses_before_it_looks():
    pauses: list[float] = []
    with BudgetedSelector(CpuBudget(share=0.1, burst=0.0), pauses.append) as selector:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        assert selector.select(0) == []
    assert pauses
    assert pauses[0] > 0.1


def test_the_loop_runs_on_its_budget():
    loop = BudgetedLoop(CpuBudget(share=0.5, burst=0.0))
    try:
        began = time.monotonic()

        async def work() -> None:
            until = time.thread_time() + 0.05
            while time.thread_time() < until:
                pass

        loop.run_until_complete(work())

        async def nothing() -> None:
            pass

        loop.run_until_complete(nothing())
        assert time.monotonic() - began >= 0.09
    finally:
        loop.close()


def test_a_server_without_means_still_answers(address: Address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(CpuBudget, "spend", lambda *_: 0.01)
    assert Client(address=address.url, token=address.token).job_id() == JOB
