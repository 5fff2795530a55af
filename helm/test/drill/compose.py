# SPDX-License-Identifier: Apache-2.0
"""Runs the fleet of compose.yaml without containers, on free ports of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import yaml

from chart import REPOSITORY
from drill.fleet import Redis
from drill.processes import Program, fetch, free_port, start_apple

COMPOSE = REPOSITORY / "compose.yaml"
FOLDER = REPOSITORY / "docs" / "compose"


def run(gateway: Path, loadtest: Path, folder: Path) -> None:
    """Starts the services, and sends HAProxy the request from the comment in compose.yaml."""
    programs: list[Program] = []
    try:
        url = _start(gateway, loadtest, folder, programs)
        verdict = _verify(url, (folder / "receipts" / "genuine-1.b64").read_text())
        assert verdict["verdict"] == "genuine" and verdict["provenance"]["source"] == "apple", f"answered {verdict}"
        # HAProxy removes a stopped gateway: the other one answers.
        programs[-2].stop()
        assert _verify(url, (folder / "receipts" / "genuine-2.b64").read_text())["verdict"] == "genuine"
    finally:
        for program in reversed(programs):
            program.stop()


def _start(gateway: Path, loadtest: Path, folder: Path, programs: list[Program]) -> str:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    subprocess.run([loadtest, *_receipts(services, folder)], check=True, capture_output=True)
    redis = Redis(folder)
    programs.append(redis.program)
    scenario = REPOSITORY / "loadtest" / "scenarios" / "quiet.yaml"
    apple, urls = start_apple(loadtest, folder / "receipts", folder, "--scenario", scenario)
    programs.append(apple)
    moved = {
        "redis:6379": f"127.0.0.1:{redis.port}",
        "http://127.0.0.1:9001/verifyReceipt": urls["production"],
        "http://127.0.0.1:9002/verifyReceipt": urls["sandbox"],
        "http://127.0.0.1:9001": urls["production"].removesuffix("/verifyReceipt"),
        "http://127.0.0.1:9002": urls["sandbox"].removesuffix("/verifyReceipt"),
        "/receipts/": f"{folder}/receipts/",
        "/etc/receipt-gateway/": f"{folder}/",
    }
    (folder / "clients.yaml").write_text(_replaced((FOLDER / "clients.yaml").read_text(), moved))
    configuration = (FOLDER / "haproxy.cfg").read_text()
    for name in ("gateway-1", "gateway-2"):
        usual = services[name]["environment"]
        http, admin = free_port(), free_port()
        environment = {key: _replaced(str(value), moved) for key, value in usual.items()}
        environment |= {"GATEWAY_HTTP_PORT": str(http), "GATEWAY_ADMIN_PORT": str(admin), "PATH": os.environ["PATH"]}
        program = Program(name, [gateway, "serve"], folder, environment)
        programs.append(program)
        program.expect("is ready", lambda admin=admin: fetch(f"http://127.0.0.1:{admin}/readyz")[0] == 200)
        address = f"{name}:{usual['GATEWAY_HTTP_PORT']} check port {usual['GATEWAY_ADMIN_PORT']}"
        configuration = configuration.replace(address, f"127.0.0.1:{http} check port {admin}")
    return _haproxy(configuration, folder, programs)


def _haproxy(configuration: str, folder: Path, programs: list[Program]) -> str:
    clients, statistics = free_port(), free_port()
    configuration = configuration.replace("bind :8080", f"bind 127.0.0.1:{clients}")
    configuration = configuration.replace("bind :8404", f"bind 127.0.0.1:{statistics}")
    (folder / "haproxy.cfg").write_text(configuration)
    found = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    program = Program("haproxy", [found, "-db", "-f", folder / "haproxy.cfg"], folder)
    programs.insert(0, program)
    url = f"http://127.0.0.1:{clients}"
    program.expect("forwards requests", lambda: fetch(f"{url}/v1/status")[0] == 401)
    return url


def _receipts(services: dict, folder: Path) -> list[str]:
    """Returns the command of the service that generates receipts."""
    return [word.replace("/receipts", f"{folder}/receipts") for word in services["receipts"]["command"]]


def _replaced(value: str, moved: dict[str, str]) -> str:
    for old, new in moved.items():
        value = value.replace(old, new)
    return value


def _verify(url: str, receipt: str) -> dict:
    """Sends a receipt with the key from compose.yaml, in mode apple so that the simulator is used."""
    key = re.search(r"X-API-Key: (\S+?)'", COMPOSE.read_text())[1]
    body = json.dumps({"receipt": "".join(receipt.split()), "mode": "apple"}).encode()
    request = urllib.request.Request(
        f"{url}/v1/verify", body, {"Content-Type": "application/json", "X-API-Key": key}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=15) as answer:
        return json.load(answer)
