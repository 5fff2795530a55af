# SPDX-License-Identifier: Apache-2.0
"""`.ci/deps` with an apt-get that writes down which policy for services it meets, and nothing that is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

from report import Report
from shell import REPOSITORY

OWN = "#!/bin/sh\nexit 104\n"
# What packages ask before they start a service, and its answer.
APT = """#!/bin/sh
[ "$1" = install ] || exit 0
"$DEPS_POLICY" redis-server start; echo "$?" >>"$DEPS_LOG"
{then}
"""
# Failures that pass: the log has a line for each try.
ONCE = """[ "$(wc -l <"$DEPS_LOG")" -gt 1 ] || { echo "no route" >&2; exit 100; }"""
TWICE_LOCKED = """[ "$(wc -l <"$DEPS_LOG")" -gt 2 ] || { echo "E: Could not get lock /var/lib/dpkg/lock" >&2; exit 100; }"""


def run(report: Report) -> None:
    report.check("deps starts no service, and leaves no policy", lambda: _play("exit 0", None, 0))
    report.check("deps puts a policy back that was there", lambda: _play("exit 0", OWN, 0))
    report.check("deps puts it back where the installation fails", lambda: _play("exit 100", OWN, 100, tries=2))
    report.check("deps leaves no policy where the installation fails", lambda: _play("exit 100", None, 100, tries=2))
    report.check("deps tries an installation again once", lambda: _play(ONCE, None, 0, tries=2))
    report.check("deps waits for a lock", lambda: _play(TWICE_LOCKED, None, 0, tries=3))
    for name, status in [("INT", 130), ("TERM", 143), ("HUP", 143)]:
        report.check(f"deps puts it back at SIG{name}", lambda: _play(f"kill -{name} $PPID", OWN, status))
    report.check("deps puts back what a run that was killed left", _after_a_kill)


def _play(then: str, before: str | None, status: int, tries: int = 1) -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(Path(name), then, before)
        found = stage.install()
        assert found.returncode == status, f"{found}"
        assert stage.log.read_text() == "101\n" * tries, f"the policy said {stage.log.read_text()!r}"
        stage.expect(before)


def _after_a_kill() -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(Path(name), "kill -KILL $PPID", OWN)
        assert stage.install().returncode == -signal.SIGKILL
        stage.plan("exit 0")
        assert stage.install().returncode == 0
        assert stage.log.read_text() == "101\n101\n"
        stage.expect(OWN)


class Stage:
    """A machine on which nothing is installed, and nothing is."""

    def __init__(self, folder: Path, then: str, before: str | None):
        self.folder, self.log, self.policy = folder, folder / "log", folder / "policy-rc.d"
        for name, text in {"id": "echo 0", "dpkg-query": "exit 1", "swift": "exit 0"}.items():
            self._program(name, f"#!/bin/sh\n{text}\n")
        if before is not None:
            self._write(self.policy, before)
        self.plan(then)

    def plan(self, then: str) -> None:
        """What apt-get does once it has asked."""
        self._program("apt-get", APT.replace("{then}", then))

    def install(self) -> subprocess.CompletedProcess:
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "DEPS_POLICY": str(self.policy),
            "DEPS_LOG": str(self.log),
        }
        command = [REPOSITORY / ".ci" / "deps", "bench"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, start_new_session=True)

    def expect(self, before: str | None) -> None:
        left = sorted(path.name for path in self.folder.glob("policy*"))
        assert left == ([] if before is None else [self.policy.name]), f"left behind: {left}"
        if before is not None:
            assert self.policy.read_text() == before and os.access(self.policy, os.X_OK)

    def _program(self, name: str, text: str) -> None:
        self._write(self.folder / "bin" / name, text)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
