# SPDX-License-Identifier: Apache-2.0
"""Checks each alert with two releases in one Prometheus: what it says of the sick one, and nothing of the well one.

Every test of helm/test/rules in which an alert fires is repeated beside the series of the first test in which it is
silent. The series of both differ in job or namespace alone, so that a rule that mixes releases fails.
"""

from __future__ import annotations

import re

import promtool
from report import Report

# The release of the tests.
JOB = "receipt-gateway"


def run(report: Report, alerts: list[str]) -> None:
    for name in alerts:
        report.check(f"{name} knows two releases", lambda name=name: _two_releases(name))


def _two_releases(alert: str) -> None:
    needed = promtool.rules_of({alert})
    plain = [_without_annotations(group) for group in needed]
    cases = []
    for interval, tests in _pairs(alert).items():
        by_job = [_beside(sick, well, {}, {"job": f"{JOB}/well"}) for sick, well in tests]
        # Annotations may name the job.
        sick_labels, well_labels = ({"job": f"{JOB}/eu", "namespace": name} for name in ("sick", "well"))
        by_namespace = [_unannotated(_beside(sick, well, sick_labels, well_labels)) for sick, well in tests]
        cases += [(needed, by_job, interval), (plain, by_namespace, interval)]
    promtool.run(cases)


def _pairs(alert: str) -> dict[str, list[tuple[dict, dict]]]:
    """Returns the tests in which the alert fires, each with one in which it is silent, by evaluation interval."""
    found: dict[str, list[tuple[dict, dict]]] = {}
    for content in promtool.files().values():
        firing, silent = [], []
        for test in content["tests"]:
            expected = [case for case in test.get("alert_rule_test", []) if case["alertname"] == alert]
            fired = [case for case in expected if _is_of_the_release(case)]
            if fired:
                firing.append({**test, "alert_rule_test": fired})
            elif expected and not any(case.get("exp_alerts") for case in expected):
                silent.append(test)
        for test in firing:
            well = next((other for other in silent if other["interval"] == test["interval"]), None)
            if well:
                found.setdefault(content["evaluation_interval"], []).append((test, well))
    assert found, "a file of helm/test/rules must make the alert fire in one test, and keep it silent in another"
    return found


def _is_of_the_release(case: dict) -> bool:
    """False for alerts that there is no release at all, and for tests that have two releases already."""
    labels = [alert["exp_labels"] for alert in case.get("exp_alerts") or []]
    return any("job" in names and "namespace" not in names for names in labels)


def _beside(sick: dict, well: dict, sick_labels: dict, well_labels: dict) -> dict:
    """Returns the test of the sick release with the series of the well one."""
    cases = [
        {**case, "exp_alerts": [_labelled(alert, sick_labels) for alert in case["exp_alerts"]]}
        for case in sick["alert_rule_test"]
    ]
    series = _series(sick, sick_labels) + _series(well, well_labels)
    return {**sick, "input_series": series, "alert_rule_test": cases}


def _labelled(alert: dict, labels: dict) -> dict:
    return {**alert, "exp_labels": {**alert["exp_labels"], **labels}}


def _series(test: dict, labels: dict) -> list[dict]:
    changed = []
    for series in test["input_series"]:
        name, inside = re.fullmatch(r"([\w:]+)\{(.*)\}", series["series"]).groups()
        if "job" in labels:
            inside = re.sub(rf'\bjob="{JOB}"', f'job="{labels["job"]}"', inside)
        if "namespace" in labels:
            inside = re.sub(r',?\bnamespace="[^"]*"', "", inside) + f',namespace="{labels["namespace"]}"'
        changed.append({**series, "series": f"{name}{{{inside}}}"})
    return changed


def _without_annotations(group: dict) -> dict:
    return {**group, "rules": [{key: rule[key] for key in rule if key != "annotations"} for rule in group["rules"]]}


def _unannotated(test: dict) -> dict:
    cases = [
        {**case, "exp_alerts": [{"exp_labels": alert["exp_labels"]} for alert in case["exp_alerts"]]}
        for case in test["alert_rule_test"]
    ]
    return {**test, "alert_rule_test": cases}
