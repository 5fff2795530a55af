# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy between one node and Redis, whose network fails on request."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Wire:
    """Passes bytes on, as its `mode` says."""

    MODES = ("open", "cut", "stall", "slow", "truncate")
    # Of `slow`: seconds for each piece. Of `truncate`: the pieces that pass before a piece is cut in half.
    DELAY, WHOLE = 0.03, 20

    _loop = asyncio.new_event_loop()
    _thread: threading.Thread | None = None

    def __init__(self, port: int):
        if Wire._thread is None:
            Wire._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            Wire._thread.start()
        self.target, self.mode, self._writers = port, "open", set()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def play(self, mode: str) -> None:
        assert mode in self.MODES, mode
        self.mode = mode
        if mode == "cut":
            self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        try:
            if self.mode == "cut":
                return
            redis_reader, redis = await asyncio.open_connection("127.0.0.1", self.target)
            ends.add(redis)
            self._writers |= ends
            await asyncio.gather(self._pass(reader, redis), self._pass(redis_reader, writer))
        except OSError:
            pass
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Ends with an OSError, which ends the other direction too."""
        count = 0
        while piece := await reader.read(65536):
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
