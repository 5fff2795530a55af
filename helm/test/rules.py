# SPDX-License-Identifier: Apache-2.0
"""Checks alerts and recording rules: syntax, runbooks, and the metrics that they use."""

from __future__ import annotations

import re

import promtool
import releases
from chart import CHART, REPOSITORY, rendered
from promtool import ALERTS
from report import Report

RUNBOOKS = REPOSITORY / "docs" / "runbooks"
RUNBOOK_URL = "https://github.com/receipt-gateway/receipt-gateway/blob/main/docs/runbooks/"
SEVERITIES = {"critical", "warning", "info"}
HEADINGS = ["## What it means", "## How to confirm", "## What to do"]
# Metrics of Prometheus itself.
FOREIGN = {"up"}


def run(report: Report) -> None:
    report.check("promtool check rules", lambda: promtool.promtool("check", "rules", ALERTS))
    for name, content in promtool.files().items():
        report.check(f"promtool test rules {name}", lambda content=content: promtool.run_file(content))
    releases.run(report, names())
    report.check("the chart's rule is the file", _the_chart_installs_the_file)
    report.check("every alert is tested by promtool", _every_alert_is_tested)
    report.check("docs/metrics.md describes every metric", lambda: known(metrics_of(ALERTS.read_text())))
    for alert in alerts():
        report.check(f"{alert['alert']} has a severity, texts and a runbook", lambda alert=alert: _complete(alert))
    report.check("alerts and runbooks correspond", _runbooks)
    report.check("CHANGELOG.md renames alerts and metrics that are gone to those that are here", _renamed)


def alerts() -> list[dict]:
    return [rule for group in promtool.groups() for rule in group["rules"] if "alert" in rule]


def names() -> list[str]:
    return sorted({alert["alert"] for alert in alerts()})


def _the_chart_installs_the_file() -> None:
    spec = rendered(CHART / "values-production.yaml").only("PrometheusRule")["spec"]
    assert spec["groups"] == promtool.groups(), (
        "the rendered groups are not those of alerts.yaml"
    )
    promtool.check("rules", spec)


def _every_alert_is_tested() -> None:
    """Some test makes each alert fire, with each of its severities."""
    fired = set()
    for content in promtool.files().values():
        for test in content["tests"]:
            for expected in test.get("alert_rule_test", []):
                fired |= {
                    (expected["alertname"], a["exp_labels"]["severity"]) for a in expected.get("exp_alerts") or []
                }
    missing = {(alert["alert"], alert["labels"]["severity"]) for alert in alerts()} - fired
    assert not missing, f"no test in helm/test/rules makes these fire: {sorted(missing)}"


def _complete(alert: dict) -> None:
    name = alert["alert"]
    assert re.fullmatch(r"ReceiptGateway([A-Z]+[a-z0-9]+)+", name), "the name must be ReceiptGateway and CamelCase"
    assert alert["labels"].get("severity") in SEVERITIES, f"the severity must be one of {sorted(SEVERITIES)}"
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url"}, (
        "annotations are summary, description and runbook_url"
    )
    assert not notes["summary"].endswith(".") and len(notes["summary"]) <= 80, (
        "a summary has at most 80 characters and no full stop"
    )
    assert notes["description"].endswith("."), "a description consists of sentences"
    assert notes["runbook_url"] == f"{RUNBOOK_URL}{name}.md", f"runbook_url must be {RUNBOOK_URL}{name}.md"


def _runbooks() -> None:
    pages = {page.stem for page in RUNBOOKS.glob("ReceiptGateway*.md")}
    assert pages == set(names()), (
        f"without a page: {sorted(set(names()) - pages)}; without an alert: {sorted(pages - set(names()))}"
    )
    index = (RUNBOOKS / "README.md").read_text()
    for name in sorted(pages):
        text = (RUNBOOKS / f"{name}.md").read_text()
        found = [line for line in text.splitlines() if line.startswith("#")]
        assert found == [f"# {name}", *HEADINGS], f"{name}.md: the headings must be {HEADINGS}"
        known(metrics_of(text))
        assert f"({name}.md)" in index, f"docs/runbooks/README.md does not list {name}"


def _renamed() -> None:
    section = re.search(r"### Renamed alerts and metrics\n(.*?)\n### ", (REPOSITORY / "CHANGELOG.md").read_text(), re.S)[1]
    rows = re.findall(r"^\| `(\w+)(.*?)` \| `(\w+)", section, re.M)
    assert len(rows) > 20, "found no table of renamed alerts and metrics"
    existing = {name.removeprefix("ReceiptGateway") for name in names()}
    existing |= {name.removeprefix("receipt_gateway_") for name in documented()}
    wrong = [(old, new) for old, label, new in rows if new not in existing or (old in existing and not label)]
    assert not wrong, f"CHANGELOG.md renames wrongly: {wrong}"


def documented() -> set[str]:
    """Returns the series that docs/metrics.md describes, with the suffixes of histograms."""
    text = (REPOSITORY / "docs" / "metrics.md").read_text()
    described = dict(re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) ", text, re.M))
    series = set(described)
    for name, kind in described.items():
        if kind == "histogram":
            series |= {name + suffix for suffix in ("_bucket", "_sum", "_count")}
    return series


def metrics_of(text: str) -> set[str]:
    """Returns the metrics that a text names, without recorded ones (they contain a colon)."""
    return set(re.findall(r"\b(?:receipt_gateway|process|prometheus_export)_[a-z0-9_]+\b(?![:(])", text))


def known(metrics: set[str]) -> None:
    unknown = metrics - documented() - FOREIGN
    assert not unknown, f"docs/metrics.md does not describe: {sorted(unknown)}"
