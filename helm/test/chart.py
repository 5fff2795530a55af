# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered by the real Helm engine."""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import helm_python
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "helm" / "receipt-gateway"

RELEASE = "gateway"
NAMESPACE = "payments"

helm_python.disable_logging()
logging.getLogger("helm_python").setLevel(logging.CRITICAL)


def values_files() -> list[Path]:
    """The values files that must render."""
    return [CHART / "values-production.yaml", *sorted((CHART / "ci").glob("*-values.yaml"))]


def load_values(path: Path) -> dict:
    return yaml.load(path.read_text(), yaml.CSafeLoader) or {}


class Rendered:
    """The rendered chart: documents by template, in order."""

    def __init__(self, values: dict, release: str = RELEASE, namespace: str = NAMESPACE):
        with helm_python.Chart.load(str(CHART)) as loaded:
            loaded.validate_schema(values)
            texts = loaded.render(values, name=release, namespace=namespace)
        self.notes = next(text for path, text in texts.items() if path.endswith("NOTES.txt"))
        self.templates = {
            path.split("/templates/", 1)[1]: [d for d in yaml.load_all(text, yaml.CSafeLoader) if d]
            for path, text in texts.items()
            if path.endswith(".yaml")
        }

    @property
    def documents(self) -> list[dict]:
        return [document for documents in self.templates.values() for document in documents]

    def only(self, kind: str, component: str = "gateway") -> dict:
        """Returns the only document of a kind that belongs to a component."""
        found = [
            document
            for document in self.documents
            if document["kind"] == kind
            and document["metadata"].get("labels", {}).get("app.kubernetes.io/component") == component
        ]
        if len(found) != 1:
            raise AssertionError(f"expected one {kind} of component {component}, found {len(found)}")
        return found[0]


@functools.cache
def rendered(file: Path) -> Rendered:
    """The chart with the values of a file, rendered once. Its documents must not be changed."""
    return Rendered(load_values(file))
