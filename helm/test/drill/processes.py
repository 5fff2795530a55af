# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the programs of the fleet, on free ports of this machine."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar


# The sockets that reserve ports, as long as this process runs.
_reserved: list[socket.socket] = []


def free_port() -> int:
    """Returns a port of 127.0.0.1 that the system gives to no other socket of this machine.

    The socket that reserves it does not listen, so that a server with SO_REUSEADDR can, now and after a restart
    (loadtest/LoopbackPorts).
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    _reserved.append(reserved)
    return reserved.getsockname()[1]


def wait_until(what: str, condition: Callable[[], object], seconds: float, pause: float = 0.1):
    """Returns the first true value of the condition; raises TimeoutError otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)


def fetch(
    url: str, data: bytes | None = None, method: str | None = None, seconds: float = 10, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """Returns status and body; status 0 if the server does not answer."""
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


class Program:
    """A process that logs into a file of the same name."""

    # All started programs, so that none is left running after a failure.
    started: ClassVar[list[Program]] = []

    @staticmethod
    def stop_all() -> None:
        for program in reversed(Program.started):
            program.stop()

    def __init__(self, name: str, command: list, folder: Path, environment: dict | None = None):
        self.log = folder / f"{name}.log"
        self.name = name
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=folder,
            )
        Program.started.append(self)

    def expect(self, what: str, condition: Callable[[], object], seconds: float = 30):
        """Waits for a condition. The error contains the log if the program ends or the wait times out."""

        def or_ended():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self.last_words()}")
            return condition()

        try:
            return wait_until(f"{self.name}: {what}", or_ended, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.last_words()}") from None

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        """Kills the process, like a crash."""
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Meanwhile the process stands still."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                # A gateway ends within its grace period (5 seconds in drills) and 5 seconds more.
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


def create_key(gateway: Path, pepper: str) -> tuple[str, dict[str, str]]:
    """Creates an API key. Returns it, and its entry in the clients file."""
    environment = {"GATEWAY_API_KEY_PEPPER": pepper}
    made = subprocess.run([gateway, "hash-key"], env=environment, capture_output=True, text=True, check=True)
    (key,) = re.findall(r"rgk_\w+\.\S+", made.stderr)
    (identifier,) = re.findall(r"id: (\S+)", made.stdout)
    (hashed,) = re.findall(r"hash: (\S+)", made.stdout)
    return key, {"id": identifier, "hash": hashed}


def start_apple(
    loadtest: Path, receipts: Path, folder: Path, *options: object, environment: dict | None = None, seconds: float = 30
) -> tuple[Program, dict[str, str]]:
    """Starts the simulated Apple with the keys of a corpus. Returns it, and the URLs that it prints, by environment."""
    program = Program("apple", [loadtest, "apple", "--pki", receipts, *options], folder, environment)

    def urls() -> dict[str, str] | None:
        found = dict(re.findall(r"^(production|sandbox) (\S+)$", program.last_words(), re.M))
        return found if len(found) == 2 else None

    return program, program.expect("prints its addresses", urls, seconds)
