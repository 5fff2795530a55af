# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation: commands run, values render, names and links exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import yaml

from chart import CHART, REPOSITORY, Rendered
from report import Report

PAGE = REPOSITORY / "docs" / "kubernetes.md"
# Without a cluster, `kubectl` does nothing.
WITHOUT_A_CLUSTER = "kubectl() { :; }\nset -euo pipefail\n"


def run(report: Report, binary: Path) -> None:
    report.check("docs/kubernetes.md: the values render", lambda: Rendered(yaml.safe_load(_block("yaml"))))
    report.check("docs/kubernetes.md: every value exists", _values_exist)
    report.check("docs/kubernetes.md: the gateway accepts the secrets", lambda: _secrets(binary))
    report.check("docs/kubernetes.md: the template in the example exists", _template)
    report.check("docs/kubernetes.md: the times match the chart", _times)
    report.check("docs/operations.md: shells accept the completions", lambda: _completions(binary))
    report.check("every link between documents has a target", _links)


def _block(language: str) -> str:
    """Returns the first code block in a language."""
    return re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)[1]


def _values_exist() -> None:
    table = re.search(r"## Values that matter\n(.*?)\n\*\*", PAGE.read_text(), re.S)[1]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([A-Za-z.]+)`", row)]
    assert len(named) > 10, "found no table of values"
    schema = json.loads((CHART / "values.schema.json").read_text())
    unknown = [name for name in named if not _knows(schema, name.split("."))]
    assert not unknown, f"values.schema.json does not know {unknown}"


def _knows(schema: dict, path: list[str]) -> bool:
    for step in path:
        if step not in schema.get("properties", {}):
            return False
        schema = schema["properties"][step]
    return True


def _secrets(binary: Path) -> None:
    """Runs the commands, then check-config on the resulting files."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "receipt-gateway").symlink_to(binary)
        script = (
            WITHOUT_A_CLUSTER
            + _block("sh")
            + "GATEWAY_HTTP_HOST=0.0.0.0 GATEWAY_CLIENTS_FILE=clients.yaml \\\n"
            + ('GATEWAY_API_KEY_PEPPER="$pepper" receipt-gateway check-config')
        )
        environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
        found = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(r"rgk_\w+\.\S+", found.stderr), "the key was not shown"


def _template() -> None:
    (shown,) = re.findall(r"--show-only (\S+)", PAGE.read_text())
    rendered = Rendered(yaml.safe_load(_block("yaml"))).templates
    assert rendered.get(shown.removeprefix("templates/")), f"{shown} renders nothing"


def _times() -> None:
    values = yaml.safe_load(_block("yaml"))
    pod = Rendered(values).only("Deployment")["spec"]["template"]["spec"]
    grace = pod["terminationGracePeriodSeconds"]
    assert f"is the sum and ten seconds: {grace}." in PAGE.read_text(), f"terminationGracePeriodSeconds is {grace}"


def _completions(binary: Path) -> None:
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    shells = re.findall(r"--generate-completion-script (\w+) ", text)
    assert shells == ["bash", "zsh", "fish"], f"names the shells {shells}"
    for shell in shells:
        command = [binary, "--generate-completion-script", shell]
        script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "check-config" in script, f"the script for {shell} does not complete check-config"
        if shell == "bash":
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def _links() -> None:
    """Checks relative links and their headings."""
    broken = []
    pages = [REPOSITORY / "loadtest" / "README.md", CHART / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    for page in [*REPOSITORY.glob("*.md"), *pages]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not _has_target(page, target):
                broken.append(f"{page.relative_to(REPOSITORY)}: {target}")
    assert not broken, "these links have no target:\n" + "\n".join(broken)


def _has_target(page: Path, target: str) -> bool:
    path, _, heading = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return False
    return not heading or heading in _headings(file)


def _headings(page: Path) -> set[str]:
    """Returns the anchors that GitHub generates."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}
