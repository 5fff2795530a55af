# SPDX-License-Identifier: Apache-2.0
"""The chart's README: its table of values comes from the comments of values.yaml, and its examples render.

Run as a program (`make chart`) it writes the table again.
"""

from __future__ import annotations

import re

import yaml

from chart import CHART, Rendered, rendered
from report import Report

README = CHART / "README.md"
VALUES = CHART / "values.yaml"
HEADING = "\n## Values\n"
MINIMAL = CHART / "ci" / "minimal-values.yaml"


def run(report: Report) -> None:
    report.check("the chart's README: make chart changes nothing", _is_current)
    report.check("the chart's README: every example adds or changes an object", _examples)
    report.check("values.yaml: the checks see comments in the wrong places", _refuses)


def table(text: str) -> str:
    """Returns Markdown with each value of a values.yaml, its default, and the comment above it."""
    lines = text.splitlines()
    used: set[int] = set()
    rows = list(_rows(yaml.compose(text, yaml.SafeLoader), "", lines, used))
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    lost = [line for number, line in enumerate(lines) if number > first and re.search(r"(^|\s)#\s", line) and number not in used]
    assert not lost, "a comment of values.yaml stands directly above its value:\n" + "\n".join(lost)
    return "\n".join(["| value | default | description |", "|---|---|---|", *rows]) + "\n"


def _rows(mapping: yaml.MappingNode, prefix: str, lines: list[str], used: set[int]):
    for key, value in mapping.value:
        path = prefix + key.value
        comment = _above(key.start_mark.line, key.start_mark.column, lines, used)
        is_group = isinstance(value, yaml.MappingNode) and not value.flow_style
        assert comment or is_group, f"values.yaml: {path} needs a comment above it"
        assert "|" not in comment, f"values.yaml: the comment of {path} has a |, which ends a cell of the table"
        default = "" if is_group else f"`{_default(value)}`"
        if comment:
            yield f"| `{path}` | {default} | {comment} |"
        if is_group:
            yield from _rows(value, f"{path}.", lines, used)


def _above(line: int, column: int, lines: list[str], used: set[int]) -> str:
    start = " " * column + "# "
    found: list[str] = []
    while line > 0 and lines[line - 1].startswith(start):
        line -= 1
        used.add(line)
        found.insert(0, lines[line].removeprefix(start))
    return " ".join(found)


def _default(value: yaml.Node) -> str:
    text = value.start_mark.buffer[value.start_mark.pointer : value.end_mark.pointer]
    if "\n" not in text.strip():
        return text.strip()
    plain = yaml.safe_load(yaml.serialize(value))
    return yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=10_000).strip()


def _page() -> str:
    """Returns the README with the table of today's values."""
    text = README.read_text()
    assert text.count(HEADING) == 1, f"the page needs one heading{HEADING}"
    return text.split(HEADING)[0] + HEADING + "\n" + table(VALUES.read_text())


def _is_current() -> None:
    assert _page() == README.read_text(), "values.yaml has changed: run `make chart`"


def _examples() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", README.read_text(), re.M | re.S)
    assert len(blocks) > 2, "found no examples"
    before = rendered(MINIMAL).documents
    for block in blocks:
        values = yaml.safe_load(MINIMAL.read_text()) | yaml.safe_load(block)
        assert Rendered(values).documents != before, f"this changes nothing:\n{block}"


def _refuses() -> None:
    """Proves that the checks can fail."""
    for text, expected in {
        "a: 1\n": "a needs a comment",
        "# A.\na: 1    # one\n": "stands directly above its value",
        "# A.\n\na:\n  # B.\n  b: 1\n\n# Lost.\n\n# C.\nc: 1\n": "Lost.",
        "# A.\na: {}\n# B | C.\nb: 1\n": "ends a cell",
    }.items():
        try:
            table("\n" + text)
        except AssertionError as error:
            assert expected in str(error), f"{text!r} fails with: {error}"
        else:
            raise AssertionError(f"accepts {text!r}")
    found = table("\n# A.\n# Group.\na:\n  # B.\n  b: {c: 1}\n  # D.\n  d:\n    - {e: 1}\n    - f\n")
    assert found.splitlines()[2:] == ["| `a` |  | A. Group. |", "| `a.b` | `{c: 1}` | B. |", "| `a.d` | `[{e: 1}, f]` | D. |"], found


if __name__ == "__main__":
    README.write_text(_page())
