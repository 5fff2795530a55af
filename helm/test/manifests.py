# SPDX-License-Identifier: Apache-2.0
"""Validates the rendered chart against each supported Kubernetes version, and rejects wrong values."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import helm_python
import kubernetes_validate
import yaml

from chart import CHART, Rendered, load_values, rendered, values_files
from report import Report

KUBERNETES = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37")
# Kinds that are no part of Kubernetes. Their fields are compared here; promtool checks the rules.
OTHER_KINDS = {
    "ServiceMonitor": {"namespaceSelector", "selector", "endpoints"},
    "PrometheusRule": {"groups"},
    "HTTPRoute": {"parentRefs", "hostnames", "rules"},
}
# What `kubectl apply` and Argo CD can keep of an object in an annotation.
MOST_BYTES = 262_144
BROKEN = Path(__file__).parent / "broken"

# The package reads the definitions of a version for each object again.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)


def run(report: Report) -> None:
    for file in values_files():
        report.check(f"helm lint --strict --values {file.name}", lambda file=file: _lint(load_values(file)))
        for version in KUBERNETES:
            report.check(
                f"{file.name} on Kubernetes {version}", lambda file=file, version=version: _validate(file, version)
            )
        report.check(f"{file.name}: references are valid", lambda file=file: _refer(rendered(file)))
        report.check(f"{file.name}: objects fit into an annotation", lambda file=file: _fit(rendered(file)))
    for file in sorted(BROKEN.glob("*.yaml")):
        report.check(f"broken/{file.name} is rejected", lambda file=file: _reject(file))


def _lint(values: dict) -> None:
    found = helm_python.lint(str(CHART), values, strict=True)
    # Severity 1 is advice, such as the missing icon.
    problems = [message for message in found["messages"] if message["severity"] > 1]
    assert not found["errors"] and not problems, f"{found['errors']} {problems}"


def _validate(file: Path, version: str) -> None:
    documents = rendered(file).documents
    assert documents, "renders nothing"
    for document in documents:
        name = f"{document['kind']} {document['metadata']['name']}"
        if document["kind"] in OTHER_KINDS:
            unknown = set(document["spec"]) - OTHER_KINDS[document["kind"]]
            assert not unknown, f"{name}: unknown fields {unknown}"
            continue
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            raise AssertionError(f"{name}: {error.message} at {'.'.join(map(str, error.absolute_path))}") from None


def _fit(chart: Rendered) -> None:
    sizes = {f"{document['kind']} {document['metadata']['name']}": len(json.dumps(document)) for document in chart.documents}
    large = {name: size for name, size in sizes.items() if size > MOST_BYTES}
    assert not large, f"these have more than {MOST_BYTES} bytes: {large}"


def _refer(chart: Rendered) -> None:
    """Checks references between documents: selectors, names and ports."""
    names = [(document["kind"], document["metadata"]["name"]) for document in chart.documents]
    assert len(set(names)) == len(names), f"two objects have one name: {names}"
    template = chart.only("Deployment")["spec"]["template"]
    labels = template["metadata"]["labels"]
    container = template["spec"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    for document in chart.documents:
        if document["kind"] == "Service" and not document["metadata"]["name"].endswith("-redis"):
            _selects(document["spec"]["selector"], labels, document)
            assert {port["targetPort"] for port in document["spec"]["ports"]} <= ports, (
                "a service targets a port that the pod does not have"
            )
    for document in chart.documents:
        if document["kind"] == "PodDisruptionBudget":
            _selects(document["spec"]["selector"]["matchLabels"], labels, document)
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    mounts = [mount["name"] for mount in container["volumeMounts"]]
    assert set(mounts) == volumes and len(set(mounts)) == len(mounts), f"mounts {mounts} are not the volumes {volumes}"
    paths = [mount["mountPath"] for mount in container["volumeMounts"]]
    nested = [(a, b) for a in paths for b in paths if a != b and b.startswith(a + "/")]
    assert not nested, f"mounts must not be nested in read-only volumes: {nested}"


def _selects(selector: dict, labels: dict, document: dict) -> None:
    wrong = {key: value for key, value in selector.items() if labels.get(key) != value}
    assert not wrong, f"{document['kind']} {document['metadata']['name']} does not select the pods: {wrong}"


def _reject(file: Path) -> None:
    """The first line is `# expect: ` and a part of the expected message."""
    first = file.read_text().splitlines()[0]
    assert first.startswith("# expect: "), "the first line must be '# expect: ' and a part of the message"
    expected = first.removeprefix("# expect: ")
    try:
        Rendered(yaml.safe_load(file.read_text()) or {})
    except helm_python.HelmError as error:
        assert expected in str(error), f"the message does not contain {expected!r}: {error}"
    else:
        raise AssertionError("renders, but should be rejected")
