# SPDX-License-Identifier: Apache-2.0
"""Nodes of two versions share a Redis: `mixed.py OLD NEW LOADTEST`, called by `.ci/mixed`.

Each stored form is written by a node of one version and read by a node of the other, both ways. Then both run at the
same time. A stored form without a case fails the check, and so does a key that no document names.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import forms
import together
from cases import CASES
from drill.processes import Program
from report import Report
from stage import Node, Stage

# Each makes a cached result a miss. None may come of a result of the other version.
FAULTS = ("seal_malformed", "seal_unknown_key", "seal_invalid", "unreadable", "implausible_times", "purges_lost")


def main() -> int:
    old, new, loadtest = (Path(path).resolve() for path in sys.argv[1:4])
    report, documented = Report(), forms.documented()
    covered = {form for case in CASES for form in case.forms} | set(together.FORMS)
    report.check("every stored form has a case", lambda: _equal(covered, documented))
    report.check("every key in the comments of Sources/RedisStore is documented", lambda: _within(documented))
    for names, writer, reader in ((("old", "new"), old, new), (("new", "old"), new, old)):
        with tempfile.TemporaryDirectory(prefix="mixed-") as folder:
            try:
                _direction(report, Stage(loadtest, Path(folder)), names, writer, reader, documented)
            finally:
                Program.stop_all()
                Program.started.clear()
    return report.close()


def _equal(covered: set[str], documented: set[str]) -> None:
    assert not documented - covered, f"no case in Tests/MixedVersions: {sorted(documented - covered)}"
    assert not covered - documented, f"not in docs/privacy.md or docs/redis.md: {sorted(covered - documented)}"


def _within(documented: set[str]) -> None:
    unknown = forms.commented() - documented
    assert not unknown, f"not in docs/privacy.md or docs/redis.md: {sorted(unknown)}"


def _direction(
    report: Report, stage: Stage, names: tuple[str, str], writer: Path, reader: Path, documented: set[str]
) -> None:
    one, other = Node(stage, writer, names[0]), Node(stage, reader, names[1])
    stage.write_clients(reader if names[1] == "old" else writer)
    one.start()
    cases = [case for case in (case() for case in CASES) if case.is_known(one) and case.is_known(other)]
    written = [case for case in cases if _write(report, stage, one, case)]
    # Apple and the receiver are well again.
    stage.play()
    stage.web.answer = stage.web.accept
    other.start()
    for case in reversed(written):
        report.check(f"{other.name} reads from {one.name}: {case.__doc__}", lambda case=case: case.read(stage, other))
    one.start()
    for scene in together.SCENES:
        title = f"{one.name} and {other.name} at the same time: {scene.__doc__}"
        report.check(title, lambda scene=scene: scene(stage, one, other))
    report.check(f"{one.name} and {other.name}: no fault, and no unknown key", lambda: _end(stage, one, other, documented))
    for what in stage.asked_again:
        print(f"{other.name} asks Apple again: {what}", flush=True)
    stage.close()


def _write(report: Report, stage: Stage, node: Node, case) -> bool:
    """Writes a case. Returns false if it failed, and is not to be read."""
    failures = len(report.failures)

    def write() -> None:
        case.write(stage, node)
        missing = [form for form in case.forms if not stage.seen(form)]
        assert not missing, f"not written: {missing}"

    report.check(f"{node.name} writes: {case.__doc__}", write)
    return len(report.failures) == failures


def _end(stage: Stage, one: Node, other: Node, documented: set[str]) -> None:
    unknown = {key for key in stage.every_key if forms.form(key, documented) is None}
    assert not unknown, f"not in docs/privacy.md or docs/redis.md: {sorted(unknown)}"
    for node in (one, other):
        for fault in FAULTS:
            assert node.metric("shared_cache_faults_total", fault=fault) == 0, f"{node.name}: {fault}"
        for update in ("pause", "lifecycle"):
            assert node.metric("fleet_state_updates_total", update=update, result="unreadable") == 0, f"{node.name}: {update}"
        node.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        Program.stop_all()
