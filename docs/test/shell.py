# SPDX-License-Identifier: Apache-2.0
"""A shell in a copy of the repository, with ports of its own, that leaves nothing running."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from drill.processes import free_port, wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
# What a reader has after `git clone`, as far as commands read it.
COPIED = ["Makefile", "README.md", "compose.yaml", ".ci", "docs", "helm", "loadtest"]
# Ports that pages and scripts name; each shell has others in their place.
PORTS = [8080, 9090, 8081, 9091, 8082, 9092, 9001, 9002, 9095, 8404, 6390, 6391, 8000, 9300, 9301, 9302]
# The URL of a gateway in pages, and in its place HAProxy of `make fleet`.
ELSEWHERE, HERE = "https://gateway.example.com", "http://127.0.0.1:8080"
# A wait ends when what it waits for happens; these are for machines with much else to do.
SECONDS, ENDING_SECONDS = 300, 60
LISTENS = shlex.join([sys.executable, str(Path(__file__).with_name("listens.py"))])

# Commands fail aloud, whichever of a block it is; and who starts a server goes on once it listens.
PRELUDE = """
set -o pipefail
failed=""
trap 'failed+="line $LINENO ended with $?: $BASH_COMMAND"$'"'"'\\n'"'"'' ERR
"""


class Shell:
    """One bash for the blocks of a page, in order."""

    def __init__(self, folder: Path, gateway: Path, loadtest: Path):
        self.folder, self.tree, self.count = folder, folder / "receipt-gateway", 0
        self.ports = {number: free_port() for number in PORTS}
        self._copy(gateway, loadtest)
        self.bash = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.tree,
            env=self._environment(),
            start_new_session=True,
        )
        self.staying: list[int] = []
        self.latest = Path(os.devnull)
        self._send(PRELUDE)

    def _copy(self, gateway: Path, loadtest: Path) -> None:
        self.tree.mkdir()
        for name in COPIED:
            source = REPOSITORY / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, self.tree / name)
        built, commands = self.tree / ".build" / "release", self.folder / "bin"
        built.mkdir(parents=True)
        commands.mkdir()
        for program in (gateway, loadtest):
            (built / program.name).symlink_to(program)
            (commands / program.name).symlink_to(program)
        # Everything is built already.
        (commands / "swift").write_text('#!/bin/sh\n[ "$1" = build ]\n')
        (commands / "swift").chmod(0o755)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GATEWAY_", "FLEET_"))}
        moved = {f"FLEET_PORT_{number}": str(port) for number, port in self.ports.items()}
        return kept | moved | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}:/usr/sbin",
            "HOME": str(self.folder),
            "SKIP_DEPS": "1",
            "NO_COLOR": "1",
            "RECEIPTS_URL": f"http://127.0.0.1:{self.ports[8080]}",
            "GATEWAY_HTTP_HOST": "127.0.0.1",
            "GATEWAY_HTTP_PORT": str(self.ports[8080]),
            "GATEWAY_ADMIN_PORT": str(self.ports[9090]),
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            # Apple's simulator may be slow on a busy machine, and is waited for.
            "GATEWAY_APPLE_DEADLINE": "30s",
            "GATEWAY_APPLE_SOFT_TIMEOUT": "30s",
            # Likewise Redis: a missed deadline would be a miss of the cache.
            "GATEWAY_REDIS_DEADLINE": "5s",
        }

    # Running

    def run(self, text: str) -> tuple[str, list[str]]:
        """What the commands printed, and which of them failed."""
        script, output, end = self._files(re.sub(r" &$", f" &\n{LISTENS} $!", text, flags=re.M))
        self.output = output
        self._send(f". {script} >{output} 2>&1 </dev/null\n")
        self._send(f'printf %s "$failed" >{end}.part; failed=; mv {end}.part {end}\n')
        wait_until("the commands end", lambda: end.exists() or self.bash.poll() is not None, SECONDS, pause=0.02)
        assert end.exists(), f"the shell ended: {output.read_text()}"
        # Where a command failed last, reading the block in failed too.
        failed = [line for line in end.read_text().splitlines() if f": . {script}" not in line]
        return self.printed(), failed

    def printed(self) -> str:
        """What the last commands have printed so far, in the background as well."""
        return self._as_written(self.output.read_text(errors="replace"))

    def stay(self, text: str, ready: str) -> None:
        """Starts commands as in a terminal of their own, and waits until they print something."""
        script, output, number = self._files(text)
        self.latest = output
        self._send(f"set -m; (. {script}) >{output} 2>&1 </dev/null &\n")
        self._send(f"echo $! >{number}.part; set +m; mv {number}.part {number}\n")
        wait_until("the commands start", number.exists, SECONDS, pause=0.02)
        group = int(number.read_text())
        self.staying.append(group)
        wanted = self._moved(ready)

        def is_up() -> bool:
            said = output.read_text(errors="replace")
            assert wanted in said or _alive(group), f"ended, and did not print `{ready}`:\n{said[-2000:]}"
            return wanted in said

        wait_until(f"prints `{ready}`", is_up, SECONDS, pause=0.05)

    def printed_by_what_stays_up(self) -> str:
        """What the commands that were started last in a terminal of their own have printed so far."""
        return self._as_written(self.latest.read_text(errors="replace"))

    def _files(self, text: str) -> tuple[Path, Path, Path]:
        self.count += 1
        script, output, end = (self.folder / f"block-{self.count}.{kind}" for kind in ("sh", "out", "end"))
        script.write_text(self._moved(text))
        output.touch()
        return script, output, end

    def _send(self, text: str) -> None:
        self.bash.stdin.write(text.encode())
        self.bash.stdin.flush()

    # Ports

    def _moved(self, text: str) -> str:
        text = text.replace(ELSEWHERE, HERE)
        for number, port in self.ports.items():
            text = re.sub(rf"(?<![\d.]){number}\b", str(port), text)
        return text

    def _as_written(self, text: str) -> str:
        for number, port in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(number), text)
        return text

    # Ending

    def interrupt(self) -> None:
        """^C for all that stays up, the last one first."""
        while self.staying:
            group = self.staying.pop()
            _signal(group, signal.SIGINT)
            _wait_until_none(lambda group=group: _members(group, 4))
            assert not _alive(group), f"^C does not end {set(_members(group, 4).values())}"

    def close(self) -> list[str]:
        """Ends everything as closing the terminal does; what went on all the same, which is then killed."""
        self.bash.stdin.close()
        _signal(self.bash.pid, signal.SIGTERM)
        _wait_until_none(lambda: _members(self.bash.pid, 5))
        left = _members(self.bash.pid, 5)
        for process in left:
            os.kill(process, signal.SIGKILL)
        self.bash.wait()
        return list(left.values())


def _alive(group: int) -> bool:
    return bool(_members(group, 4))


def _wait_until_none(members) -> None:
    end = time.monotonic() + ENDING_SECONDS
    while members() and time.monotonic() < end:
        time.sleep(0.02)


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def _members(number: int, field: int) -> dict[int, str]:
    """Processes of a group (field 4 of /proc/PID/stat) or a session (field 5) that have not ended, by their number."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            start, name, rest = re.match(r"(\d+) \((.*)\) (.*)", path.read_text(), re.S).groups()
        except (OSError, AttributeError):
            continue
        words = rest.split()
        # The first word is the state, which is field 2.
        if words[field - 2] == str(number) and words[0] != "Z":
            found[int(start)] = name
    return found
