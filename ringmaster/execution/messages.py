"""Messages between parent and worker: the length in four bytes, then the message."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("!I")
#: Bytes read at a time: as a rule a whole message.
_CHUNK = 1 << 16


def frame(message: bytes) -> bytes:
    """Return a message as it is on the way."""
    return _LENGTH.pack(len(message)) + message


class Messages:
    """One end of a connection: a blocking descriptor, which it owns."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self._fd

    def send(self, message: bytes) -> None:
        """Send a message.  Raises OSError when the other end is gone."""
        data = memoryview(frame(message))
        while data:
            data = data[os.write(self._fd, data) :]

    def receive(self) -> list[bytes]:
        """Wait for a message; returns it, and those that have come with it whole.

        What has been read is never left for another call, but for the beginning of a
        message whose rest is still to come: the descriptor tells when to call again.
        Raises EOFError when the other end has been closed, OSError when it is gone, or
        when this one is closed.
        """
        found: list[bytes] = []
        while not found:
            data = os.read(self._fd, _CHUNK)
            if not data:
                raise EOFError
            self._received += data
            while len(self._received) >= _LENGTH.size:
                end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
                if len(self._received) < end:
                    break
                found.append(bytes(self._received[_LENGTH.size : end]))
                del self._received[:end]
        return found

    def close(self) -> None:
        """Close the descriptor; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
