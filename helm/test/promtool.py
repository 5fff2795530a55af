# SPDX-License-Identifier: Apache-2.0
"""Tests of rules in promtool's format. Each runs with the rules of its alerts alone, in a fraction of the time of all rules."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from pathlib import Path

import yaml

from chart import CHART, load_values

ALERTS = CHART / "files" / "alerts.yaml"
FOLDER = Path(__file__).parent / "rules"


def promtool(*arguments, folder: Path | None = None, text: str | None = None) -> None:
    found = subprocess.run(["promtool", *arguments], cwd=folder, input=text, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def check(kind: str, content: dict) -> None:
    """Checks the content of a file of this kind, `rules` or `config`."""
    promtool("check", kind, "/dev/stdin", text=_yaml(content))


@functools.cache
def groups() -> list[dict]:
    return load_values(ALERTS)["groups"]


@functools.cache
def files() -> dict[str, dict]:
    """The contents of the files of tests, by name."""
    return {file.name: load_values(file) for file in sorted(FOLDER.glob("*_test.yaml"))}


def alerts_of(test: dict) -> set[str]:
    return {case["alertname"] for case in test["alert_rule_test"]}


def rules_of(alerts: set[str]) -> list[dict]:
    """Returns the groups with the rules of the alerts and the recorded series that they need."""
    rules = [rule for group in groups() for rule in group["rules"]]
    records = {rule["record"]: rule["expr"] for rule in rules if "record" in rule}
    needed: set[str] = set()
    waiting = [rule["expr"] for rule in rules if rule.get("alert") in alerts]
    while waiting:
        named = set(re.findall(r"receipt_gateway:[\w:]+", waiting.pop())) - needed
        needed |= named
        waiting += [records[name] for name in named]
    kept = [[rule for rule in group["rules"] if rule.get("alert") in alerts or rule.get("record") in needed] for group in groups()]
    return [{**group, "rules": rules} for group, rules in zip(groups(), kept) if rules]


def run(cases: list[tuple[list[dict], list[dict], str]]) -> None:
    """Runs tests: each case has groups of rules, tests, and the interval of evaluations."""
    with tempfile.TemporaryDirectory() as name:
        folder, tests = Path(name), []
        for number, (rules, those, interval) in enumerate(cases):
            content = {"rule_files": [f"rules-{number}.yaml"], "evaluation_interval": interval, "tests": those}
            (folder / f"rules-{number}.yaml").write_text(_yaml({"groups": rules}))
            (folder / f"tests-{number}.yaml").write_text(_yaml(content))
            tests.append(f"tests-{number}.yaml")
        promtool("test", "rules", *tests, folder=folder)


def run_file(content: dict) -> None:
    """Runs the tests of a file, in one case for tests of equal alerts."""
    assert set(content) == {"rule_files", "evaluation_interval", "tests"}, f"a file of tests has {sorted(content)}"
    equal: dict[frozenset[str], list[dict]] = {}
    for test in content["tests"]:
        unknown = set(test) - {"name", "interval", "input_series", "alert_rule_test"}
        assert not unknown, f"{test['name']}: the checks do not know {sorted(unknown)}"
        equal.setdefault(frozenset(alerts_of(test)), []).append(test)
    run([(rules_of(set(alerts)), tests, content["evaluation_interval"]) for alerts, tests in equal.items()])


def _yaml(content: dict) -> str:
    return yaml.dump(content, Dumper=yaml.CSafeDumper)
