"""Messages between parent and worker, cut at any place."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.execution.connection import Messages


@pytest.fixture
def ends() -> Iterator[tuple[Messages, Messages]]:
    one, other = (Messages(end.detach()) for end in socket.socketpair())
    yield one, other
    one.close()
    other.close()


def received(end: Messages, count: int) -> list[bytes]:
    received_messages: list[bytes] = []
    while len(received_messages) < count:
        received_messages += end.receive()
    return received_messages


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.data())
def test_messages_come_as_they_were_sent_wherever_the_stream_is_cut(
    messages: list[bytes], data: st.DataObject
) -> None:
    read, write = os.pipe()
    sender = Messages(write)
    for message in messages:
        sender.send(message)
    stream = os.read(read, 1 << 16)
    received_messages: list[bytes] = []
    receiver = Messages(read)
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        os.write(write, stream[:size])
        stream = stream[size:]
        # a receiver that finds no whole message would wait
        expected = _whole(messages, len(b"".join(messages)) + 4 * len(messages) - len(stream))
        if expected > len(received_messages):
            received_messages += receiver.receive()
            assert len(received_messages) == expected
    assert received_messages == messages
    sender.close()
    receiver.close()


def _whole(messages: list[bytes], size: int) -> int:
    """Return how many messages are in the first bytes of the stream."""
    number = 0
    for message in messages:
        size -= 4 + len(message)
        if size < 0:
            break
        number += 1
    return number


def test_message_larger_than_any_buffer_gets_through(ends: tuple[Messages, Messages]) -> None:
    one, other = ends
    large = os.urandom(5 << 20)
    sender = threading.Thread(target=one.send, args=(large,))
    sender.start()
    assert received(other, 1) == [large]
    sender.join()


def test_end_is_reported_after_earlier_messages(ends: tuple[Messages, Messages]) -> None:
    one, other = ends
    one.send(b"last")
    one.close()
    assert other.receive() == [b"last"]
    with pytest.raises(EOFError):
        other.receive()
    with pytest.raises(ConnectionError):
        other.send(b"nobody is there")


def test_message_without_its_end_is_none(ends: tuple[Messages, Messages]) -> None:
    one, other = ends
    os.write(one.fileno(), b"\0\0\0\x09half")
    one.close()
    with pytest.raises(EOFError):
        other.receive()


def test_closed_end_neither_sends_nor_receives(ends: tuple[Messages, Messages]) -> None:
    one, _ = ends
    one.close()
    one.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        one.send(b"")
    with pytest.raises(OSError, match="Bad file descriptor"):
        one.receive()
