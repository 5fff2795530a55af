# SPDX-License-Identifier: Apache-2.0
"""Checks compose.yaml, its files and the systemd unit for consistency, without starting them."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

import promtool
from chart import REPOSITORY
from report import Report

COMPOSE = REPOSITORY / "compose.yaml"
FOLDER = REPOSITORY / "docs" / "compose"
UNIT = REPOSITORY / "docs" / "systemd" / "receipt-gateway.service"
# The highest accepted level of `systemd-analyze security`, from 0 (most restricted) to 10.
MOST_EXPOSURE = 1.5


def run(report: Report, binary: Path) -> None:
    report.check("compose.yaml names files that exist", _mounts)
    report.check("compose.yaml: every dependency exists", _dependencies)
    report.check("compose.yaml: HAProxy and Prometheus list every gateway", _gateways)
    report.check("compose.yaml and the Dockerfile name the same stages", _stages)
    report.check("haproxy accepts docs/compose/haproxy.cfg", _haproxy)
    report.check("promtool accepts docs/compose/prometheus.yaml", _prometheus)
    if shutil.which("systemd-analyze"):
        report.check("systemd accepts the unit", lambda: _unit(binary))
    else:
        print("helm: systemd-analyze is not installed; the systemd unit is not checked")


def _services() -> dict:
    return yaml.safe_load(COMPOSE.read_text())["services"]


def _mounts() -> None:
    sources = [volume.split(":")[0] for service in _services().values() for volume in service.get("volumes", [])]
    files = [source for source in sources if source.startswith("./")]
    assert files, "no file is mounted"
    missing = [source for source in files if not (REPOSITORY / source).is_file()]
    assert not missing, f"these do not exist: {missing}"


def _dependencies() -> None:
    services = _services()
    for name, service in services.items():
        unknown = set(service.get("depends_on", [])) - set(services)
        assert not unknown, f"{name} depends on {unknown}"


def _gateways() -> None:
    services = _services()
    names = [name for name in services if name.startswith("gateway-")]
    haproxy, prometheus = (FOLDER / "haproxy.cfg").read_text(), (FOLDER / "prometheus.yaml").read_text()
    assert sorted(names) == sorted(services["apple"]["networks"]["default"]["aliases"]), (
        "apple's aliases are not the gateways"
    )
    for name in names:
        environment = services[name]["environment"]
        http, admin = environment["GATEWAY_HTTP_PORT"], environment["GATEWAY_ADMIN_PORT"]
        assert f"server {name} {name}:{http} check port {admin}\n" in haproxy, (
            f"haproxy.cfg does not list {name}:{http}"
        )
        assert f'"{name}:{admin}"' in prometheus, f"prometheus.yaml does not scrape {name}:{admin}"


def _stages() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", (REPOSITORY / "Dockerfile").read_text(), re.M))
    targets = {service["build"]["target"] for service in _services().values() if "build" in service}
    assert targets <= stages, f"the Dockerfile has no stage {targets - stages}"


def _haproxy() -> None:
    program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    assert program, "haproxy is not installed: .ci/deps test"
    # A server whose name does not resolve yet is a warning.
    found = subprocess.run([program, "-c", "-f", FOLDER / "haproxy.cfg"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def _prometheus() -> None:
    configuration = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    assert [Path(file).name for file in configuration.pop("rule_files")] == ["alerts.yaml"], "it must load alerts.yaml"
    promtool.check("config", configuration)


def _unit(binary: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, UNIT.name)
        copy.write_text(UNIT.read_text().replace("/usr/local/bin/receipt-gateway", str(binary)))
        found = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
        assert found.returncode == 0 and not found.stderr.strip(), found.stdout + found.stderr
        output = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", copy], capture_output=True, text=True
        ).stdout
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", output)
    assert level and float(level[1]) <= MOST_EXPOSURE, f"the exposure exceeds {MOST_EXPOSURE}: {output[-200:]}"
