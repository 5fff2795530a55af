# SPDX-License-Identifier: Apache-2.0
"""The example clients of the form API against a real gateway, in clear and encrypted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from clients import CLIENTS, PEPPER, Stage, compiled
from drill.processes import Program, free_port
from report import Report
from shell import SECONDS

GENUINE, FORGED = "genuine-1.b64", "fault-payload-bit-flipped.b64"
KEY, TOKEN = "act_5f0c9a3e}", "app_shop+1"
# AES-128 and AES-256.
ENCRYPTION_KEYS = {"app_128": "00112233445566778899aabbccddeeff", "app_256": "0f" * 32}


def run(report: Report, gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(gateway, loadtest, Path(name))
        try:
            settings = account(stage)
            for language, command in _commands(stage).items():
                title = f"the form client in {language} verifies, decrypts and reads answers"
                report.check(title, lambda command=command: _speaks(stage, settings, command))
        finally:
            Program.stop_all()


def _commands(stage: Stage) -> dict[str, list]:
    python = [shutil.which("python3"), CLIENTS / "python" / "form_client.py"]
    return {"Python": python, "Swift": [compiled("FormClient", stage.folder)]}


def account(stage: Stage) -> dict[str, str]:
    """Settings with an account, made as operators make it."""
    environment = {"PATH": os.environ["PATH"], "GATEWAY_API_KEY_PEPPER": PEPPER}

    def said(command: list[str], text: str) -> str:
        command = [str(stage.gateway), *command]
        return subprocess.run(
            command, env=environment, input=text, capture_output=True, text=True, check=True
        ).stdout.strip()

    key = said(["hash-key", "--import"], KEY).removeprefix("- hash: ")
    apps = [{"token": TOKEN, "bundle_id": stage.app(GENUINE)}]
    for token, encryption_key in ENCRYPTION_KEYS.items():
        sealed = said(["seal-key"], encryption_key).removeprefix("encryption_key: ")
        apps.append({"token": token, "bundle_id": stage.app(GENUINE), "encryption_key": sealed})
    file = stage.folder / "form-clients.yaml"
    file.write_text(json.dumps({"clients": [{"name": "shop", "form": {"keys": [{"hash": key}], "apps": apps}}]}))
    return {"GATEWAY_CLIENTS_FILE": str(file), "GATEWAY_API_KEY_PEPPER": PEPPER}


def _product(url: str, receipt: Path) -> str:
    """A product of the receipt, read from the raw answer."""
    form = f"apikey={KEY}&token={TOKEN}&receipt={receipt.read_text().strip()}".encode()
    request = urllib.request.Request(f"{url}/api", form, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = json.load(urllib.request.urlopen(request, timeout=SECONDS))
    return answer["latest_receipt_info"][0]["product_id"]


def _speaks(stage: Stage, settings: dict[str, str], command: list) -> None:
    bundle = stage.app(GENUINE)
    with stage.running(**settings) as gateway:
        wanted = _product(gateway.url, stage.receipts / GENUINE)

        def says(receipt: str, token: str, key: str = KEY, encryption_key: str = "", product: str = wanted) -> str:
            environment = {
                "PATH": os.environ["PATH"],
                "RECEIPTS_URL": gateway.url,
                "RECEIPTS_FORM_KEY": key,
                "RECEIPTS_FORM_TOKEN": token,
                "RECEIPTS_ENCRYPTION_KEY": encryption_key,
            }
            words = [*command, stage.receipts / receipt, bundle, product]
            words = [str(word) for word in words]
            return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS).stdout.strip()

        in_clear = says(GENUINE, TOKEN)
        assert in_clear.startswith(f"unlock – {wanted}, "), in_clear
        for token, encryption_key in ENCRYPTION_KEYS.items():
            assert says(GENUINE, token, encryption_key=encryption_key) == in_clear
            assert says(FORGED, token, encryption_key=encryption_key).startswith("keep locked – 21003 ")
            assert says(GENUINE, token, encryption_key="ff" * len(bytes.fromhex(encryption_key))).startswith("later – ")
        assert says(GENUINE, TOKEN, product="com.example.other") == "keep locked – the product is not in the receipt"
        assert says(GENUINE, TOKEN, key="wrong") == "keep locked – 401 Authentication is incorrect."
        assert says(GENUINE, "wrong") == "keep locked – 401 Authentication is incorrect."
        assert says(GENUINE, TOKEN, encryption_key="00" * 16).startswith("keep locked – 401 ")
    port = free_port()
    environment = {"PATH": os.environ["PATH"], "RECEIPTS_URL": f"http://127.0.0.1:{port}"}
    words = [str(word) for word in [*command, stage.receipts / GENUINE, bundle, "product"]]
    gone = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert gone.returncode == 75 and gone.stdout.startswith("later – "), gone
