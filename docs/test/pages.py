# SPDX-License-Identifier: Apache-2.0
"""Blocks of commands in a page of Markdown, what they are to print, and the comments that say how to try them.

A comment is one of these, in front of a block as a rule; a reader does not see them.

    <!-- not run: REASON -->       only parsed; the reasons are listed below
    <!-- stays up: TEXT -->        runs until ^C at the end of the page; it is up once it has printed TEXT
    <!-- in the test: A => B -->   A stands in the text, B is run: something shorter, or something that is here; repeatable
    <!-- exits: 98, 99 -->         these statuses are as good as 0
    <!-- in a pod -->             run by helm/test/runbooks.py, with a stand-in for kubectl and the chart's files
    <!-- ^C -->                    ends what stays up; at the end of the page it happens anyway
    <!-- figures vary -->          in front of an output: any number is as good as those that are shown
    <!-- from one run -->         in front of an output: a measurement; its lines are to have the same names, in any order
    <!-- until it matches -->      in front of an output: the commands are run again until they print it
    <!-- printed there -->         in front of an output: what stays up prints it, after the commands

And anywhere before the first block, what the page takes for granted:

    <!-- given: make run -->       this command stays up while the page is tried
    <!-- first: KEY=… -->          this command is run after it, in the shell of the page
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

REASONS = {
    "needs a cluster",
    "needs a container engine",
    "needs a service that runs",
    "needs root",
    "needs Xcode",
    "needs the network",
    "needs a server elsewhere",
    "takes half an hour",
    "takes minutes",
    "tests run it",
}
# Commands stand in `sh` and nowhere else: none gets away by another name.
COMMANDS, INTERRUPT, NOT_COMMANDS = "sh", "^C", {"bash", "shell", "console", "shell-session", "zsh"}
OUTPUTS = {"", "json", "text"}

_COMMENT = re.compile(r" *<!-- (.*) -->$")
_MARKER = re.compile(
    r"(not run|stays up|in the test|exits|given|first): (.+)$"
    r"|(figures vary|from one run|until it matches|printed there|in a pod)$",
)
# In a list it is indented, and so are its lines.
_FENCE = re.compile(r"( *)```(\S*)$")


@dataclass
class Block:
    """One fenced block, with the markers in front of it."""

    line: int
    language: str
    text: str = ""
    markers: dict[str, str] = field(default_factory=dict)
    output: Block | None = None

    @property
    def run(self) -> str:
        """The text that is run."""
        text = self.text
        for pair in self.markers.get("in the test", "").splitlines():
            written, run = pair.split(" => ", 1)
            assert written in self.text, f"line {self.line}: `{written}` does not stand in it"
            text = text.replace(written, run)
        return text

    @property
    def is_run(self) -> bool:
        """True if it is run on this machine, as it stands in the page."""
        return "not run" not in self.markers and "in a pod" not in self.markers


@dataclass
class Page:
    """The commands of a page in order."""

    path: Path
    given: list[str]
    first: list[str]
    blocks: list[Block]


def read(path: Path) -> Page:
    """Raises AssertionError where a comment or a language is not known."""
    page, markers, block, last, indentation = Page(path, [], [], []), {}, None, None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if block is not None:
            if line.strip() == "```":
                last, block = _ended(page, block, last), None
            else:
                block.text += line.removeprefix(indentation) + "\n"
        elif fence := _FENCE.match(line):
            indentation = fence[1]
            block, markers = Block(number, fence[2], markers=markers), {}
        elif comment := _COMMENT.match(line):
            _mark(page, markers, comment[1], number)
        elif line.strip():
            markers, last = {}, None
    assert block is None, f"line {block and block.line}: a block without an end"
    return page


def _ended(page: Page, block: Block, last: Block | None) -> Block | None:
    assert block.language not in NOT_COMMANDS, f"line {block.line}: write `sh`, not `{block.language}`"
    if block.language == COMMANDS:
        page.blocks.append(block)
        return block
    if last and block.language in OUTPUTS:
        last.output = block
    else:
        assert not block.markers, f"line {block.line}: a marker in front of what is neither commands nor their output"
    return None


def _mark(page: Page, markers: dict[str, str], text: str, number: int) -> None:
    if text == INTERRUPT:
        page.blocks.append(Block(number, INTERRUPT))
        return
    marker = _MARKER.match(text)
    assert marker, f"line {number}: `{text}` has no known meaning"
    name, value = marker[1] or marker[3], marker[2] or ""
    if name in ("given", "first"):
        getattr(page, name).append(value)
    elif name == "in the test":
        assert " => " in value, f"line {number}: write `A => B`"
        markers[name] = "\n".join(filter(None, [markers.get(name), value]))
    else:
        assert name != "not run" or value in REASONS, f"line {number}: `{value}` is no reason"
        markers[name] = value
