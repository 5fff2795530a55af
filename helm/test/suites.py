# SPDX-License-Identifier: Apache-2.0
"""Runs tests in the format of the helm-unittest plugin, as far as this chart uses it.

An unknown assertion is an error, so that no test passes without asserting anything.
"""

from __future__ import annotations

import re

import helm_python
import yaml

from chart import CHART, NAMESPACE, RELEASE, Rendered, load_values
from report import Report

MISSING = object()


def run(report: Report) -> None:
    files = sorted((CHART / "tests").glob("*_test.yaml"))
    report.check(
        "the chart has tests", lambda: _require(files, "no file matches helm/receipt-gateway/tests/*_test.yaml")
    )
    for file in files:
        suite = yaml.safe_load(file.read_text())
        for test in suite["tests"]:
            report.check(f"{file.name}: {test['it']}", lambda suite=suite, test=test: _run(suite, test))


def _run(suite: dict, test: dict) -> None:
    _require(test.get("asserts"), "the test asserts nothing")
    values: dict = {}
    for name in [*suite.get("values", []), *test.get("values", [])]:
        _merge(values, load_values((CHART / "tests" / name).resolve()))
    for path, value in {**suite.get("set", {}), **test.get("set", {})}.items():
        _put(values, path, value)
    release = {**suite.get("release", {}), **test.get("release", {})}
    rendered, failure = _render(values, release)
    for assertion in test["asserts"]:
        templates = _templates(suite, test, assertion)
        _check(assertion, _documents(rendered, templates, {**test, **assertion}), failure)


def _render(values: dict, release: dict) -> tuple[Rendered | None, str | None]:
    try:
        return Rendered(values, release.get("name", RELEASE), release.get("namespace", NAMESPACE)), None
    except helm_python.HelmError as error:
        return None, str(error)


def _templates(suite: dict, test: dict, assertion: dict) -> list[str]:
    for scope in (assertion, test):
        if "template" in scope:
            return [scope["template"]]
        if "templates" in scope:
            return scope["templates"]
    return suite["templates"]


def _documents(rendered: Rendered | None, templates: list[str], where: dict) -> list[dict]:
    if rendered is None:
        return []
    documents = []
    for template in templates:
        _require(template in rendered.templates, f"there is no template {template}")
        documents += rendered.templates[template]
    if "documentSelector" in where:
        path, value = where["documentSelector"]["path"], where["documentSelector"]["value"]
        documents = [document for document in documents if _get(document, path) == value]
    if "documentIndex" in where:
        documents = documents[where["documentIndex"] : where["documentIndex"] + 1]
    return documents


def _check(assertion: dict, documents: list[dict], failure: str | None) -> None:
    (kind,) = [key for key in assertion if key in ASSERTIONS or key == "failedTemplate"] or [None]
    _require(kind, f"unknown assertion: {', '.join(assertion)}")
    arguments = assertion[kind] or {}
    if kind == "failedTemplate":
        _failed(arguments, failure)
        return
    _require(failure is None, f"does not render: {failure}")
    if kind == "hasDocuments":
        _require(len(documents) == arguments["count"], f"{len(documents)} documents, not {arguments['count']}")
        return
    _require(documents, f"{kind}: there is no document")
    for document in documents:
        ASSERTIONS[kind](document, arguments)


def _failed(arguments: dict, failure: str | None) -> None:
    _require(failure is not None, "renders, but should fail")
    _require(re.search(arguments["errorPattern"], failure), f"fails with another message: {failure}")


def _equal(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(found == a["value"], f"{a['path']} is {_show(found)}, not {a['value']!r}")


def _not_equal(document: dict, a: dict) -> None:
    _require(_get(document, a["path"]) != a["value"], f"{a['path']} is {a['value']!r}")


def _exists(document: dict, a: dict) -> None:
    _require(_get(document, a["path"]) is not MISSING, f"{a['path']} is missing")


def _not_exists(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(found is MISSING, f"{a['path']} is {_show(found)}")


def _contains(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(
        isinstance(found, list) and a["content"] in found,
        f"{a['path']} does not contain {a['content']!r}: {_show(found)}",
    )


def _not_contains(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(not (isinstance(found, list) and a["content"] in found), f"{a['path']} contains {a['content']!r}")


def _is_subset(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    missing = {
        key: value for key, value in a["content"].items() if not isinstance(found, dict) or found.get(key) != value
    }
    _require(not missing, f"{a['path']} lacks {missing!r}: {_show(found)}")


def _match(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(
        isinstance(found, str) and re.search(a["pattern"], found),
        f"{a['path']} does not match {a['pattern']!r}: {_show(found)}",
    )


def _length(document: dict, a: dict) -> None:
    found = _get(document, a["path"])
    _require(
        isinstance(found, list) and len(found) == a["count"], f"{a['path']} has not {a['count']} items: {_show(found)}"
    )


def _is_kind(document: dict, a: dict) -> None:
    _require(document["kind"] == a["of"], f"is a {document['kind']}, not a {a['of']}")


ASSERTIONS = {
    "hasDocuments": None,
    "equal": _equal,
    "notEqual": _not_equal,
    "exists": _exists,
    "notExists": _not_exists,
    "contains": _contains,
    "notContains": _not_contains,
    "isSubset": _is_subset,
    "matchRegex": _match,
    "lengthEqual": _length,
    "isKind": _is_kind,
}


# The subset of JSONPath that the plugin accepts: a.b, a[0], a["b/c"].
_STEP = re.compile(r'\[(\d+)\]|\["([^"]+)"\]|([^.\[\]]+)')


def _steps(path: str) -> list:
    return [int(index) if index else quoted or plain for index, quoted, plain in _STEP.findall(path)]


def _get(value, path: str):
    for step in _steps(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


def _put(values: dict, path: str, value) -> None:
    *parents, last = _steps(path)
    for step in parents:
        values = values.setdefault(step, {})
    values[last] = value


def _merge(into: dict, other: dict) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _show(found) -> str:
    return "missing" if found is MISSING else repr(found)


def _require(condition, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)
