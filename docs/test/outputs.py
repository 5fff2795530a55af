# SPDX-License-Identifier: Apache-2.0
"""Whether commands printed what a page shows.

`…` in a line stands for any text, and a line of nothing else for any lines. JSON may be broken into lines.
"""

from __future__ import annotations

import re

ANYTHING = "…"
_NUMBER = re.compile(r"\d[\d,.]*")
_TEXT_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


def matches(shown: str, printed: str, is_json: bool = False, figures_vary: bool = False) -> bool:
    if is_json:
        shown, printed = _compact(shown), _compact(printed)
        pattern = ".*?".join(_literal(part, figures_vary) for part in shown.split(ANYTHING))
        return re.fullmatch(pattern, printed, re.S) is not None
    lines = [line.rstrip() for line in shown.rstrip().splitlines()]
    pattern = "".join(_line(line, figures_vary) for line in lines)
    printed = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, printed) is not None


def resembles(shown: str, printed: str) -> list[str]:
    """The names at the beginning of lines that were not printed."""
    return [name for name in _names(shown) if name not in _names(printed)]


def _names(text: str) -> list[str]:
    return [word for line in text.splitlines() if (word := (line.split() or [""])[0]) and word[0].islower()]


def _line(line: str, figures_vary: bool) -> str:
    if line.strip() == ANYTHING:
        return r"(?:.*\n)*?"
    return ".*?".join(_literal(part, figures_vary) for part in line.split(ANYTHING)) + r"\n"


def _literal(text: str, figures_vary: bool) -> str:
    if not figures_vary:
        return re.escape(text)
    # Columns move with what stands in them.
    words = [r"[\d,.]+".join(re.escape(piece) for piece in _NUMBER.split(word)) for word in re.split(" +", text)]
    return " *".join(words)


def _compact(text: str) -> str:
    """Without the white space between the parts of JSON."""
    return _TEXT_OR_SPACE.sub(lambda match: match[1] or "", text)
