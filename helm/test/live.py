# Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
# SPDX-License-Identifier: Apache-2.0
"""Sees the dashboards and the alerts work on a real fleet: `live.py GATEWAY LOADTEST [compose] [panels] [SCENE...]`.

Starts two gateways, Redis, Apple's simulator and Prometheus on this machine. Under load every query of every panel must
return values; then each fault happens for real, and each of its alerts must become pending, which no fault before it may
have caused. Windows are the real ones: what is new to Prometheus fills them from their beginning. Ends what it started.
"""

from __future__ import annotations

import json
import math
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

# Groups are evaluated each second. Only this alert compares with a time before the fleet was there.
SHORTENED = {"[30m]": "[10s]", "offset 1d": "offset 15s", "rate30m": "rate10s"}


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
        report.check("the fleet of compose.yaml answers", lambda: _compose(gateway, loadtest))
    if not chosen or "panels" in chosen:
        _with_fleet(report, gateway, loadtest, lambda fleet, load: _panels(report, fleet))
    for scene in SCENES:
        if not chosen or scene.name in chosen:
            _with_fleet(report, gateway, loadtest, lambda fleet, load, scene=scene: _play(report, scene, fleet, load))
    return report.close()


def _compose(gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        compose.rehearse(gateway, loadtest, Path(folder))


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
        "receipt_gateway:findings_shared:ratio_rate10s offset 16s",
    )
    return all(any(_number(found) for found in fleet.query(name)) for name in wanted)


def _rules(folder: Path) -> Path:
    """The rules as they are, each second, with shorter times where a fleet of a minute has no past."""
    content = yaml.safe_load(rules.ALERTS.read_text())
    for group in content["groups"]:
        group["interval"] = "1s"
        for rule in group["rules"]:
            if "findings" in rule.get("record", "") or rule.get("alert") == "ReceiptGatewayCacheHitsDropped":
                rule.update({key: _shortened(rule[key]) for key in ("record", "expr") if key in rule})
    path = folder / "alerts.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _shortened(text: str) -> str:
    for long, short in SHORTENED.items():
        text = text.replace(long, short)
    return text


def _every_alert() -> None:
    tried = {alert.split("/")[0] for scene in SCENES for fault in scene.faults for alert in fault.alerts}
    there = {name.removeprefix("ReceiptGateway") for name in rules.names()}
    assert tried == there, f"without a fault, or a fault without an alert: {sorted(tried ^ there)}"


# Panels


def _panels(report: Report, fleet: Fleet) -> None:
    for file in sorted(FOLDER.glob("*.json")):
        for title, expression in queries(json.loads(file.read_text())):
            report.check(f"{file.name}, {title}", lambda expression=expression: _has_values(fleet, expression))
    print(f"panels: every query was asked of Prometheus; {report.passed} checks passed so far", flush=True)


def _has_values(fleet: Fleet, expression: str) -> None:
    query = filled(expression, interval="15s")
    wait_until(f"no value: {query}", lambda: any(_number(found) for found in fleet.query(query)), 20, pause=1)


def _number(found: dict) -> bool:
    return not math.isnan(float(found["value"][1]))


# Alerts


def _play(report: Report, scene: Scene, fleet: Fleet, load: Load) -> None:
    report.check(f"{scene.name}: nothing is wrong before", lambda: _nothing_yet(fleet, scene))
    for fault in scene.faults:
        report.check(f"{scene.name}: {fault.name}", lambda fault=fault: _happen(fault, fleet, load))


def _nothing_yet(fleet: Fleet, scene: Scene) -> None:
    early = fleet.alerting()
    assert not early, f"already pending without a fault: {sorted(early)}"


def _happen(fault: Fault, fleet: Fleet, load: Load) -> None:
    waiting = set(fault.alerts)
    try:
        # What the fault before shook for a moment comes to rest; what lasts would hide what this one does.
        wait_until("at rest", lambda: not _pending(fleet, fault), 40)
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
    """Those of the fault's alerts that are pending or firing."""
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
