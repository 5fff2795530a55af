# SPDX-License-Identifier: Apache-2.0
"""Checks the dashboards against Grafana's types and the rules of its dashboard-linter."""

from __future__ import annotations

import json
import re

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

import promtool
from chart import CHART, REPOSITORY
from report import Report
from rules import FOREIGN, known

FOLDER = CHART / "dashboards"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SELECTORS = ('namespace=~"$namespace"', 'job=~"$job"', 'instance=~"$instance"')
# What Grafana sends for "All". Without Kubernetes there is no namespace, and other jobs have the metric `up` as well.
ALL = {"namespace": ".*", "job": "receipt-gateway(/.+)?", "instance": ".+"}
# Fields that Grafana writes but the SDK does not know.
BEYOND_THE_SDK = {"definition", "titleFormat"}
COLUMNS = 24

register_default_plugins()


def run(report: Report) -> None:
    files = sorted(FOLDER.glob("*.json"))
    report.check(
        "there are dashboards", lambda: _require(len(files) >= 2, "helm/receipt-gateway/dashboards has fewer than two")
    )
    for file in files:
        board = json.loads(file.read_text())
        report.check(f"{file.name}: Grafana's types know every field", lambda board=board: _round_trip(board))
        report.check(
            f"{file.name}: has variables for its data source, releases and nodes",
            lambda board=board: _variables(board),
        )
        report.check(f"{file.name}: panels do not overlap", lambda board=board: _overlaps(board))
        report.check(f"{file.name}: promtool accepts every query", lambda board=board: _promql(board))
        for panel in panels(board):
            report.check(f"{file.name}: {panel['title']}", lambda panel=panel: _panel(panel))


def panels(board: dict) -> list[dict]:
    """Returns the panels without the rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board: dict) -> list[tuple[str, str]]:
    return [(panel["title"], target["expr"]) for panel in panels(board) for target in panel["targets"]]


def filled(expression: str, interval: str = "1m", **chosen: str) -> str:
    """Returns a query as Grafana sends it, with everything selected that is not chosen."""
    expression = expression.replace("$__rate_interval", interval)
    for name, value in (ALL | chosen).items():
        expression = expression.replace(f"${name}", value)
    return expression


def _require(condition, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def _round_trip(board: dict) -> None:
    """Decodes and encodes the dashboard: a misspelt field gets lost."""
    back = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(board)))
    lost = list(_lost(board, back, board["uid"]))
    _require(not lost, "Grafana's types lack these fields:\n" + "\n".join(lost))


def _lost(before, after, path: str):
    if isinstance(before, dict):
        for key, value in before.items():
            if not isinstance(after, dict) or key not in after:
                if key not in BEYOND_THE_SDK:
                    yield f"{path}.{key}"
            else:
                yield from _lost(value, after[key], f"{path}.{key}")
    elif isinstance(before, list):
        if not isinstance(after, list) or len(before) != len(after):
            yield path
            return
        for index, pair in enumerate(zip(before, after)):
            yield from _lost(*pair, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r} became {after!r}"


def _variables(board: dict) -> None:
    _require(board["uid"].startswith("receipt-gateway-"), "the uid must begin with receipt-gateway-")
    _require(
        board["description"] and board["tags"] == ["receipt-gateway"],
        "the dashboard needs a description and the tag receipt-gateway",
    )
    found = {variable["name"]: variable for variable in board["templating"]["list"]}
    _require(set(found) == {"datasource", *ALL}, f"the variables are {sorted(found)}")
    _require(
        found["datasource"]["type"] == "datasource" and found["datasource"]["query"] == "prometheus",
        "datasource must select a Prometheus",
    )
    for name, everything in ALL.items():
        variable = found[name]
        _require(variable["datasource"] == DATASOURCE, f"{name} must use the selected data source")
        _require(
            variable["multi"] and variable["includeAll"] and variable["allValue"] == everything,
            f"{name} must allow several values, and all as {everything}",
        )
        _require(variable["query"]["query"].startswith("label_values("), f"{name} must use label_values")
        _require(variable["refresh"] == 2, f"{name} must refresh when the time range changes")
        earlier = SELECTORS[: list(ALL).index(name)]
        _require(all(matcher in variable["definition"] for matcher in earlier), f"{name} must use {earlier}")
        _require(variable["definition"] == variable["query"]["query"], f"the definition of {name} must be its query")
    for annotation in board["annotations"]["list"]:
        wanted = all(matcher in annotation["expr"] for matcher in SELECTORS)
        _require(wanted, f"{annotation['name']} must be restricted to {' and '.join(SELECTORS)}")


def _overlaps(board: dict) -> None:
    numbers = [panel["id"] for panel in board["panels"]]
    _require(len(set(numbers)) == len(numbers), "two panels have one id")
    occupied: dict[tuple[int, int], str] = {}
    for panel in board["panels"]:
        grid = panel["gridPos"]
        _require(grid["x"] + grid["w"] <= COLUMNS, f"{panel['title']} is wider than the screen")
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                _require((x, y) not in occupied, f"{panel['title']} overlaps {occupied.get((x, y))}")
                occupied[x, y] = panel["title"]


def _panel(panel: dict) -> None:
    _require(
        panel["title"] and panel["description"].endswith("."),
        "a panel needs a title, and a description of sentences",
    )
    _require(panel["datasource"] == DATASOURCE, "a panel must use the selected data source")
    _require(panel["fieldConfig"]["defaults"].get("unit"), "a panel needs a unit")
    references = [target["refId"] for target in panel["targets"]]
    _require(
        references and len(set(references)) == len(references), "a panel needs queries with distinct refIds"
    )
    for target in panel["targets"]:
        _require(target["datasource"] == DATASOURCE, f"query {target['refId']} must use the selected data source")
        _require(target["legendFormat"] or panel["type"] == "table", f"query {target['refId']} has no legend")
        _query(target["expr"])
        _legend(target["legendFormat"], target["expr"])


_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}")
_NAME = re.compile(r"\b(?:receipt_gateway|process|prometheus_export)[a-z0-9_:]+\b")


def _query(expression: str) -> None:
    selected = _SELECTOR.findall(expression)
    _require(selected, f"no series is selected: {expression}")
    bare = set(_NAME.findall(expression)) - {name for name, _ in selected}
    _require(not bare, f"{sorted(bare)} must be restricted to the selected releases and nodes")
    for name, matchers in selected:
        # Recorded series have no instance label.
        wanted = SELECTORS[:2] if ":" in name else SELECTORS
        _require(all(matcher in matchers for matcher in wanted), f"{name} must be restricted to {' and '.join(wanted)}")
    known({name for name, _ in selected if ":" not in name} - FOREIGN)
    _counters(expression, {name for name, _ in selected})
    for labels in re.findall(r"\bon \(([^)]+)\)", expression):
        _require({"namespace", "job"} <= set(labels.split(", ")), f"on ({labels}) joins series of different releases")
    for window in re.findall(r"\[([^\]]+)\]", expression):
        _require(window == "$__rate_interval", f"the window must be $__rate_interval, not {window}")
    if "histogram_quantile" in expression:
        _require(re.search(r"sum by \([^)]*\ble\b", expression), "histogram_quantile needs sums by le")


def _counters(expression: str, names: set[str]) -> None:
    """Requires rate() for counters, and forbids it for gauges."""
    for name in names:
        cumulative = kinds().get(re.sub(r"_(bucket|sum|count)$", "", name), kinds().get(name)) in (
            "counter",
            "histogram",
        )
        rated = f"rate({name}{{" in expression
        _require(not cumulative or rated, f"{name} is a counter and needs rate()")
        _require(cumulative or not rated, f"{name} is not a counter; rate() is wrong")


def _legend(legend: str, expression: str) -> None:
    grouped = {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", expression) for label in labels.split(",")}
    # A recorded series that is not summed has the labels of its release.
    if not grouped and any(":" in name for name, _ in _SELECTOR.findall(expression)):
        grouped = {"namespace", "job"}
    named = set(re.findall(r"\{\{(\w+)\}\}", legend))
    _require(named <= grouped, f"the legend names {sorted(named - grouped)}, the query has only {sorted(grouped)}")
    # Series with the same legend cannot be distinguished.
    missing = grouped - named - {"le", ""}
    _require(not missing or not legend, f"the legend does not name {sorted(missing)}")


def kinds() -> dict[str, str]:
    text = (REPOSITORY / "docs" / "metrics.md").read_text()
    return dict(re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) ", text, re.M))


def _promql(board: dict) -> None:
    rules = [
        {"record": "a:query:checked", "expr": filled(expression), "labels": {"n": str(n)}}
        for n, (_, expression) in enumerate(queries(board))
    ]
    promtool.check("rules", {"groups": [{"name": "queries", "rules": rules}]})
