"""The test run itself: nothing leaves the machine, and nothing from outside changes the product."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from tests.waiting import patience


def test_an_outside_address_is_refused() -> None:
    with socket.socket() as sock, pytest.raises(OSError, match="network is closed"):
        sock.connect(("192.0.2.1", 80))


def test_an_outside_name_is_not_even_looked_up() -> None:
    with pytest.raises(OSError, match="network is closed"):
        socket.getaddrinfo("example.com", 443)


async def test_asyncio_cannot_leave_either() -> None:
    with pytest.raises(OSError, match="network is closed"):
        await asyncio.open_connection("2001:db8::1", 443)


def test_a_datagram_cannot_leave() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(OSError, match="network is closed"):
        sock.sendto(b"x", ("192.0.2.1", 53))


async def test_loopback_works() -> None:
    answered = asyncio.Event()
    listener = await asyncio.start_server(lambda reader, writer: answered.set(), "127.0.0.1", 0)
    async with listener:
        _, writer = await asyncio.open_connection("localhost", listener.sockets[0].getsockname()[1])
        await asyncio.wait_for(answered.wait(), patience())
        writer.close()


def test_no_key_and_no_setting_comes_in_from_outside() -> None:
    told = {name for name in os.environ if name.startswith(("CAIRN_", "OPENAI_", "COHERE_", "PG"))}
    assert told == {"CAIRN_EMBEDDING_MODEL"}, "that is told by the tests themselves"
