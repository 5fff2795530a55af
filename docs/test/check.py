# SPDX-License-Identifier: Apache-2.0
"""Runs the documentation: `check.py GATEWAY LOADTEST [PAGE...] [NAME...]`. `.ci/docs` calls it.

Every block of commands in a page is run, in order, in a shell in a copy of the repository, with real servers; what the
page shows of its output must be what it prints. Then Swift blocks are compiled, the example clients are run against
gateways in good and bad health, the example receivers get good and bad webhooks, and the SQL for events is run on an
example. A NAME is one of `clients`, `receivers`, `analytics`, `snippets` and `deps`, or `pictures`, which are compared only
if they are named.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import analytics
import clients
import form_clients
import dependencies
import event_pages
import outputs
import pages
import pictures
import receivers
import signed_answers
import snippets
from drill.processes import wait_until
from report import Report
from shell import REPOSITORY, SECONDS, Shell

NAMES = {"clients", "receivers", "analytics", "pictures", "snippets", "deps"}
UP = "Stop it with ^C"
PAGES_AT_ONCE = 5
# Where a command stands.
BEYOND = re.compile(
    r"(?:^|[|;&(])[ ]*(sudo|systemctl|pidof|pkill|killall|docker|kubectl|helm|apt-get|git|redis-cli(?! -p)) ", re.M
)


def main() -> int:
    if len(sys.argv) < 3:
        print("docs: give the paths of receipt-gateway and receipt-loadtest", file=sys.stderr)
        return 64
    gateway, loadtest = (Path(path).resolve() for path in sys.argv[1:3])
    chosen = sys.argv[3:]
    report = Report()
    wanted: list[pages.Page] = []
    with contextlib.suppress(AssertionError):
        wanted = _read(chosen)
    report.check("every block of commands is run, or says why not", lambda: _read(chosen))

    def check(page: pages.Page) -> None:
        name = page.path.relative_to(REPOSITORY)
        report.check(f"{name}: its commands do what it says", lambda: _walk(page, gateway, loadtest))

    def check_parts() -> None:
        if not chosen or "deps" in chosen:
            dependencies.run(report)
        if not chosen or "snippets" in chosen:
            snippets.run(report)
        if not chosen or "clients" in chosen:
            clients.run(report, gateway, loadtest)
            form_clients.run(report, gateway, loadtest)
            signed_answers.run(report, gateway, loadtest)
        if "pictures" in chosen:
            pictures.run(report, gateway, loadtest)
        if not chosen or "receivers" in chosen:
            receivers.run(report)
        if not chosen or "analytics" in chosen:
            event_pages.run(report)
            analytics.run(report)

    # Each has ports of its own, and mostly waits.
    with ThreadPoolExecutor(PAGES_AT_ONCE + 1) as threads:
        parts = threads.submit(check_parts)
        list(threads.map(check, wanted))
        parts.result()
    return report.close()


def _read(chosen: list[str]) -> list[pages.Page]:
    """The pages with commands to run; of all, or of those that were chosen."""
    top = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "loadtest/README.md")]
    found, faults = [], []
    for path in top + sorted((REPOSITORY / "docs").rglob("*.md")):
        try:
            page = pages.read(path)
            for block in page.blocks:
                _parses(block)
                in_a_pod = "in a pod" in block.markers
                assert not in_a_pod or path.parent.name == "runbooks" or path.name == "kubernetes.md", (
                    f"line {block.line}: helm/test/runbooks.py runs commands of runbooks and of kubernetes.md alone"
                )
        except AssertionError as fault:
            faults.append(f"{path.relative_to(REPOSITORY)}: {fault}")
        else:
            found.append(page)
    assert not faults, "\n".join(faults)
    runs = [page for page in found if any(block.is_run for block in page.blocks)]
    by_path = {page.path: page for page in runs}
    names = [name for name in chosen if name not in NAMES]
    unknown = [name for name in names if REPOSITORY / name not in by_path]
    assert not unknown, f"no page with commands to run: {', '.join(unknown)}"
    return [by_path[REPOSITORY / name] for name in names] if chosen else runs


def _walk(page: pages.Page, gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder), gateway, loadtest)
        try:
            for command in page.given:
                shell.stay(command, UP)
            for command in page.first:
                _, failed = shell.run(command)
                assert not failed, f"`{command}`: {failed}"
            for block in page.blocks:
                if block.language == pages.INTERRUPT:
                    shell.interrupt()
                elif block.is_run:
                    _run(shell, block)
            shell.interrupt()
        finally:
            left = shell.close()
        assert not left, f"left over: {left}"


def _parses(block: pages.Block) -> None:
    """And names only files that are there; what is run reaches no further than the test."""
    beyond = BEYOND.search(block.run)
    assert not beyond or not block.is_run, f"line {block.line}: `{beyond[1]}` is not run here: say why not"
    found = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
    assert found.returncode == 0, f"line {block.line}: {found.stderr}"
    for name in re.findall(r"(?<![\w/.-])((?:docs|helm|loadtest)/[\w./-]+)", block.text):
        assert (REPOSITORY / name).exists(), f"line {block.line}: there is no {name}"


def _run(shell: Shell, block: pages.Block) -> None:
    text = block.run
    try:
        if "stays up" in block.markers:
            shell.stay(text, block.markers["stays up"])
        elif block.output and "until it matches" in block.output.markers:
            wait_until("prints what is shown", lambda: _printed(shell, block, text) is None, SECONDS, pause=0.5)
        else:
            fault = _printed(shell, block, text)
            assert not fault, fault
    except (AssertionError, TimeoutError) as fault:
        raise AssertionError(f"line {block.line}: {fault}") from None


def _printed(shell: Shell, block: pages.Block, text: str) -> str | None:
    """What is wrong with what it did."""
    printed, failed = shell.run(text)
    allowed = block.markers.get("exits", "").split(", ")
    failed = [line for line in failed if re.search(r"ended with (\d+)", line)[1] not in allowed]
    if failed:
        return "\n".join(failed) + f"\n{printed[-2000:]}"
    shown = block.output
    if shown and "from one run" in shown.markers:
        missing = outputs.resembles(shown.text, printed)
        return f"printed nothing that begins with {missing}:\n{printed[-3000:]}" if missing else None
    if not shown:
        return None

    is_elsewhere = "printed there" in shown.markers

    def found() -> str:
        return shell.printed_by_what_stays_up() if is_elsewhere else shell.printed()

    def is_as_shown() -> bool:
        return outputs.matches(shown.text, found(), shown.language == "json", "figures vary" in shown.markers)

    # A server in the background may listen before it prints.
    if is_elsewhere or re.search(r" &$", text, flags=re.M):
        with contextlib.suppress(TimeoutError):
            wait_until("the servers print", is_as_shown, SECONDS, pause=0.05)
    if not is_as_shown():
        return f"printed, in the place of what line {shown.line} shows:\n{found()[-3000:]}"
    return None


if __name__ == "__main__":
    sys.exit(main())
