# SPDX-License-Identifier: Apache-2.0
"""Tests dashboards and alerts on a real fleet: `live.py GATEWAY LOADTEST [compose] [panels] [SCENE...]`.

Starts two gateways, Redis, Apple's simulator and Prometheus on this machine. Under load every query of every panel must
return values. Then each fault is caused for real, and each of its alerts must become pending; no earlier fault may
raise them. The windows of the rules are unchanged, because series younger than a window suffice. Stops what it started.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import yaml

import rules
from dashboards import FOLDER, filled, queries
from drill import compose
from drill.faults import SCENES, Fault, Scene
from drill.fleet import Fleet
from drill.load import Load
from drill.processes import Program, wait_until
from report import Report

# Some alerts compare with the day before, when the fleet had not started: their times are shortened.
SHORTENED = {"[30m]": "[10s]", "offset 1d": "offset 15s", "rate30m": "rate10s"}
# While panels are queried, Prometheus sees the fleet as two releases with nodes of equal names.
NAMESPACES = ["production", "staging"]


def main() -> int:
    if len(sys.argv) < 3:
        print("live: give the paths of receipt-gateway and receipt-loadtest", file=sys.stderr)
        return 64
    gateway, loadtest = (Path(path).resolve() for path in sys.argv[1:3])
    chosen = sys.argv[3:]
    report = Report()
    if not chosen:
        report.check("every alert has a fault", _every_alert)
    if not chosen or "compose" in chosen:
        report.check("the fleet of compose.yaml verifies receipts", lambda: _compose(gateway, loadtest))
    if not chosen or "panels" in chosen:
        _with_fleet(report, gateway, loadtest, lambda fleet, load: _panels(report, fleet, load))
    for scene in SCENES:
        if not chosen or scene.name in chosen:
            _with_fleet(report, gateway, loadtest, lambda fleet, load, scene=scene: _play(report, scene, fleet, load))
    return report.close()


def _compose(gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        compose.run(gateway, loadtest, Path(folder))


def _with_fleet(report: Report, gateway: Path, loadtest: Path, body) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fleet = Fleet(gateway, loadtest, folder, _rules(folder))
        load = Load(fleet)
        try:
            wait_until("recording rules have values", lambda: _settled(fleet), 60, pause=1)
            body(fleet, load)
        finally:
            load.close()
            fleet.close()


def _settled(fleet: Fleet) -> bool:
    wanted = (
        "receipt_gateway:unavailable:ratio_rate5m",
        "receipt_gateway:slow:ratio_rate3d",
        "receipt_gateway:cache_hits:ratio_rate10s offset 16s",
        "receipt_gateway:not_rejected:rate10s offset 16s",
    )
    return all(any(_number(found) for found in fleet.query(name)) for name in wanted)


def _rules(folder: Path) -> Path:
    """Writes the rules, evaluated each second, with SHORTENED times for comparisons with the day before."""
    content = yaml.safe_load(rules.ALERTS.read_text())
    comparing = [rule for group in content["groups"] for rule in group["rules"] if "offset 1d" in rule["expr"]]
    compared = {name for rule in comparing for name in re.findall(r"receipt_gateway:[\w:]+", rule["expr"])}
    for group in content["groups"]:
        group["interval"] = "1s"
        for rule in group["rules"]:
            if rule in comparing or rule.get("record") in compared:
                rule.update({key: _shortened(rule[key]) for key in ("record", "expr") if key in rule})
    path = folder / "alerts.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _shortened(text: str) -> str:
    for long, short in SHORTENED.items():
        text = text.replace(long, short)
    return text


def _every_alert() -> None:
    caused = {alert.split("/")[0] for scene in SCENES for fault in scene.faults for alert in fault.alerts}
    existing = {name.removeprefix("ReceiptGateway") for name in rules.names()}
    assert caused == existing, f"alerts without a fault, or faults without an alert: {sorted(caused ^ existing)}"


# Panels


def _panels(report: Report, fleet: Fleet, load: Load) -> None:
    load.mix = {**Load.USUAL, "deferred": 10}
    fleet.scrape(fleet.nodes, *({"namespace": name} for name in NAMESPACES))
    with fleet.notifications():
        for file in sorted(FOLDER.glob("*.json")):
            for title, expression in queries(json.loads(file.read_text())):
                report.check(f"{file.name}, {title}", lambda expression=expression: _has_values(fleet, expression))
    print(f"panels: sent every query to Prometheus; {report.passed} checks passed so far", flush=True)


def _has_values(fleet: Fleet, expression: str) -> None:
    for selected in [".*", *NAMESPACES]:
        query = filled(expression, interval="15s", namespace=selected)
        found = wait_until(f"no value: {query}", lambda query=query: _numbers(fleet, query), 20, pause=1)
        releases = {series["metric"].get("namespace", selected) for series in found}
        assert selected == ".*" or releases == {selected}, f"of other releases, too: {query}"


def _numbers(fleet: Fleet, query: str) -> list[dict]:
    return [found for found in fleet.query(query) if _number(found)]


def _number(found: dict) -> bool:
    return not math.isnan(float(found["value"][1]))


# Alerts


def _play(report: Report, scene: Scene, fleet: Fleet, load: Load) -> None:
    report.check(f"{scene.name}: no alert before the first fault", lambda: _no_alert(fleet, scene))
    for fault in scene.faults:
        report.check(f"{scene.name}: {fault.name}", lambda fault=fault: _happen(fault, fleet, load))


def _no_alert(fleet: Fleet, scene: Scene) -> None:
    early = fleet.alerting()
    assert not early, f"already pending without a fault: {sorted(early)}"


def _happen(fault: Fault, fleet: Fleet, load: Load) -> None:
    waiting = set(fault.alerts)
    try:
        # Alerts of the previous fault must end first.
        wait_until("no alert of this fault", lambda: not _pending(fleet, fault), 40)
    except TimeoutError:
        raise AssertionError(f"pending before the fault: {sorted(_pending(fleet, fault))}") from None
    begun = time.monotonic()
    load.mix = dict(fault.mix)
    with fault.happen(fleet, load):
        while waiting and time.monotonic() - begun < fault.seconds:
            for alert in sorted(_pending(fleet, fault) & waiting):
                waiting.discard(alert)
                print(f"| {fault.name} | {alert} | {time.monotonic() - begun:.1f} |", flush=True)
            time.sleep(0.2)
    load.mix = dict(Load.USUAL)
    assert not waiting, f"not pending within {fault.seconds:g} s: {sorted(waiting)}"


def _pending(fleet: Fleet, fault: Fault) -> set[str]:
    """Returns the alerts of the fault that are pending or firing."""
    now = fleet.alerting()
    names = {name.removeprefix("ReceiptGateway") for name, _ in now}
    both = {f"{name.removeprefix('ReceiptGateway')}/{severity}" for name, severity in now}
    return set(fault.alerts) & (names | both)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    finally:
        Program.stop_all()
