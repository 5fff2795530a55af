# SPDX-License-Identifier: Apache-2.0
"""The events that pages and tests show are events by docs/events.yaml."""

from __future__ import annotations

import json
import re

import analytics
import sample_events
from report import Report
from shell import REPOSITORY

DOCS = REPOSITORY / "docs"


def run(report: Report) -> None:
    report.check("docs/events.md has each type of docs/events.yaml, and no other", _types)
    report.check("the event in docs/events.md and those of tests have members of docs/events.yaml", _members)


def _types() -> None:
    table = _text("events.md").split("## One event")[0]
    documented = re.findall(r"^\| `([a-z]+(?:\.[a-z_]+)?)` \| .+ \| .+ \|$", table, re.M)
    assert documented == _enumerated("type"), f"{documented}, not {_enumerated('type')}"


def _members() -> None:
    # Properties of the event stand at 2 spaces, those of its data at 6, those of its cause as well.
    schema = _text("events.yaml")
    event, definitions = schema.split("\n$defs:\n")
    data, cause = definitions.split("\n  Cause:\n")
    known = {"": _names(event, 2), "data": _names(data, 6), "cause": _names(cause.split("\n  SignedData:\n")[0], 6)}
    required = set(re.search(r"required: \[(schema_version, .+)\]", data)[1].split(", "))
    for one in _events():
        for place, members in {"": one, "data": one["data"], "cause": one["data"]["cause"]}.items():
            unknown = set(members) - known[place]
            assert not unknown, f"{one['type']} {place}: {unknown} are not in docs/events.yaml"
        assert required <= set(one["data"]), f"{one['type']}: {required - set(one['data'])} are missing"
        assert re.fullmatch(r"evt_[A-Za-z0-9_-]{32}", one["id"]), one["id"]
        assert one["type"] in _enumerated("type"), one["type"]
        for name, value in one["data"].items():
            twin = one["data"].get(f"{name}_ms")
            assert twin is None or sample_events.milliseconds(value) == twin, f"{name}: {value} is not {twin}"


def _events() -> list[dict]:
    shown = re.search(r"^```json\n(\{\"id\": .+?)^```$", _text("events.md"), re.M | re.S)
    return [json.loads(shown[1]), sample_events.renewal(), *analytics.history()]


def _enumerated(name: str) -> list[str]:
    values = re.search(rf"^  {name}:\n.*?^    enum:\n((?:      - \S+\n)+)", _text("events.yaml"), re.M | re.S)
    return re.findall(r"- (\S+)", values[1])


def _names(text: str, indentation: int) -> set[str]:
    return set(re.findall(rf"^ {{{indentation}}}([a-z_]+):", text, re.M))


def _text(name: str) -> str:
    return (DOCS / name).read_text()
