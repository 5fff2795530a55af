# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy between one node and the servers of Redis, whose network fails on request."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import partial

from sentinels import Sentinels


class Wire:
    """Passes bytes on, as its `mode` says. The node reaches all servers by ports of this wire only."""

    MODES = ("open", "cut", "stall", "slow", "truncate")
    # Of `slow`: seconds for each piece. Of `truncate`: the pieces that pass before a piece is cut in half.
    DELAY, WHOLE = 0.03, 20

    _loop = asyncio.new_event_loop()
    _thread: threading.Thread | None = None

    def __init__(self, redis: Sentinels):
        if Wire._thread is None:
            Wire._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            Wire._thread.start()
        self.mode, self._writers = "open", set()
        servers = {server.port: self._open(server.port) for server in redis.servers}
        # What the sentinels say of a server, as the node must read it. Equally long, so that frames stay as they are.
        names = {str(port).encode(): str(mine).encode() for port, mine in servers.items()}
        assert all(len(port) == len(mine) for port, mine in names.items()), names
        ports = [self._open(port, names) for port in redis.ports]
        self.url = redis.url_at(ports)

    def _open(self, target: int, names: dict[bytes, bytes] | None = None) -> int:
        """Returns the port that leads to the target."""
        connect = partial(self._connect, target, names or {})
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(connect, "127.0.0.1", 0), self._loop).result(10)
        return server.sockets[0].getsockname()[1]

    def play(self, mode: str) -> None:
        assert mode in self.MODES, mode
        self.mode = mode
        if mode == "cut":
            self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connect(
        self, target: int, names: dict[bytes, bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        ends = {writer}
        try:
            if self.mode == "cut":
                return
            redis_reader, redis = await asyncio.open_connection("127.0.0.1", target)
            ends.add(redis)
            self._writers |= ends
            await asyncio.gather(self._pass(reader, redis, {}), self._pass(redis_reader, writer, names))
        except OSError:
            pass
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, names: dict[bytes, bytes]
    ) -> None:
        """Ends with an OSError, which ends the other direction too."""
        count = 0
        while piece := await reader.read(65536):
            for name, mine in names.items():
                piece = piece.replace(name, mine)
            while self.mode == "stall":
                await asyncio.sleep(0.05)
            if self.mode == "slow":
                await asyncio.sleep(self.DELAY)
            count += 1
            if self.mode == "truncate" and count % self.WHOLE == 0:
                writer.write(piece[: len(piece) // 2])
                with contextlib.suppress(OSError):
                    await writer.drain()
                break
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError
