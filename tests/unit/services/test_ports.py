from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from milepost.services.ports import accepts_connections, choose_ports, is_free


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def test_port_is_free_when_nothing_listens(taken: int, free: int):
    assert (is_free(taken), is_free(free)) == (False, True)


def test_answers_tells_a_listener_from_silence(taken: int, free: int):
    assert (accepts_connections(taken), accepts_connections(free)) == (True, False)


def test_former_port_is_kept_while_it_is_free(free: int):
    assert choose_ports(["broker"], {"broker": free}) == {"broker": free}


def test_taken_port_is_replaced_and_the_other_kept(taken: int, free: int):
    chosen = choose_ports(["broker", "controller"], {"broker": taken, "controller": free})
    assert chosen["broker"] != taken
    assert chosen["controller"] == free


def test_new_ports_differ():
    names = [str(number) for number in range(20)]
    assert len(set(choose_ports(names, {}).values())) == 20
