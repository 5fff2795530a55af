# SPDX-License-Identifier: Apache-2.0
"""`receipt-gateway check-config` accepts the configuration that the chart renders."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from chart import CHART, Rendered, rendered, values_files
from report import Report

# Settings that the chart makes itself or takes from secrets. `config` offers all others.
SET_BY_THE_CHART = {
    "http.host",
    "http.port",
    "admin.host",
    "admin.port",
    "clients_file",
    "redis.url",
    "redis.ca_file",
    "redis.certificate_file",
    "redis.key_file",
    "api_key_pepper",
    "apple.shared_secret",
    "cache.keys",
    "notifications.token",
    "redis.password",
    # From a Secret of the operator's, by `extraEnv`.
    "traces.headers",
}

PEPPER = "for-checks-only-0123456789"
CLIENTS = """\
clients:
  - name: checks
    apps: "*"
    keys: [{id: rgk_6efe2064ddcafe47, hash: hmac-sha256:%s}]
""" % ("0" * 64)
# With a file of `secrets.webhooks`.
WEBHOOKS = """\
    webhooks:
      - name: events
        url: https://shop.example.com/events
        apps: [com.example.shop]
        key_files: [/run/secrets/receipt-gateway/webhooks/shop-webhook]
"""
# With a file of `secrets.apps`.
SERVER_API = """\
server_api:
  issuer_id: 57246542-96fe-1a63-e053-0824d011072a
  key_id: 2X9R4HXF34
  private_key_file: /run/secrets/receipt-gateway/apps/AuthKey_2X9R4HXF34.p8
"""


def run(report: Report, binary: Path) -> None:
    report.check("the schema has every setting", lambda: _schema_is_complete(binary))
    for file in values_files():
        report.check(f"check-config accepts {file.name}", lambda file=file: _accepts(binary, file))
    report.check("check-config rejects a missing secret", lambda: _refuses(binary))


def _schema_is_complete(binary: Path) -> None:
    listed = subprocess.run([binary, "check-config"], capture_output=True, text=True, env={}, check=True).stdout
    settings = {line.split(":", 1)[0].removeprefix("gateway.") for line in listed.splitlines() if line}
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["config"]
    offered = set(_leaves(schema))
    missing = settings - SET_BY_THE_CHART - offered
    unknown = offered - settings
    assert not missing, f"add to config in helm/receipt-gateway/values.schema.json: {sorted(missing)}"
    assert not unknown, f"the schema has settings that the gateway does not: {sorted(unknown)}"


def _leaves(schema: dict, prefix: str = "") -> list[str]:
    if "properties" not in schema:
        return [prefix]
    return [
        leaf
        for key, inner in schema["properties"].items()
        for leaf in _leaves(inner, f"{prefix}.{key}" if prefix else key)
    ]


def _accepts(binary: Path, file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pod = Pod(rendered(file), Path(folder))
        found = pod.check_config(binary)
        assert found.returncode == 0, found.stdout + found.stderr
        inside = {line.split(":", 1)[0] for line in found.stdout.splitlines() if not line.endswith("# default")}
        assert "gateway.clients_file" in inside, f"the rendered file was not read:\n{found.stdout}"


def _refuses(binary: Path) -> None:
    """Removes a secret, to prove that the check can fail."""
    with tempfile.TemporaryDirectory() as folder:
        pod = Pod(rendered(CHART / "ci" / "everything-values.yaml"), Path(folder))
        (pod.folder / "run/secrets/receipt-gateway/cache-keys/cache-keys").unlink()
        assert pod.check_config(binary).returncode == 78, "a missing secret went unnoticed"


class Pod:
    """The files and variables of the rendered pod, below a folder. Paths in the configuration point into it."""

    def __init__(self, chart: Rendered, folder: Path, clients: str | None = None):
        self.folder = folder
        spec = chart.only("Deployment")["spec"]["template"]["spec"]
        container = spec["containers"][0]
        volumes = {volume["name"] for volume in spec["volumes"]}
        self.clients = clients or CLIENTS
        if clients is None:
            self.clients += WEBHOOKS if "secret-webhooks" in volumes else ""
            self.clients += SERVER_API if "secret-apps" in volumes else ""
        for mount in container["volumeMounts"]:
            self._mount(mount["mountPath"], next(v for v in spec["volumes"] if v["name"] == mount["name"]), chart)
        self.environment = {variable["name"]: self._value(variable) for variable in container["env"]}

    def check_config(self, binary: Path) -> subprocess.CompletedProcess:
        return subprocess.run([binary, "check-config"], capture_output=True, text=True, env=self.environment)

    def _value(self, variable: dict) -> str:
        if "value" in variable:
            value = variable["value"]
            return self._inside(value) if value.startswith("/") else value
        return SECRETS[variable["valueFrom"]["secretKeyRef"]["key"]]

    def _inside(self, path: str) -> str:
        return str(self.folder / path.lstrip("/"))

    def _mount(self, path: str, volume: dict, chart: Rendered) -> None:
        target = Path(self._inside(path))
        target.mkdir(parents=True)
        for name, content in self._files(volume, chart).items():
            # Paths in the configuration point into this folder too.
            (target / name).write_text(
                re.sub(r"(?<![\w.])(/run/secrets|/etc/receipt-gateway)(?=/)", rf"{self.folder}\1", content)
            )

    def _files(self, volume: dict, chart: Rendered) -> dict[str, str]:
        if "secret" in volume:
            return SECRETS | {"clients.yaml": self.clients}
        own = chart.only("ConfigMap")
        if volume.get("configMap", {}).get("name") == own["metadata"]["name"]:
            return own["data"]
        return {"test.pem": CERTIFICATE, "xcode.pem": CERTIFICATE}


def _certificate() -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key"), Path(folder, "certificate")
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-subj",
                "/CN=checks",
                "-days",
                "2",
                "-addext",
                "basicConstraints=critical,CA:TRUE",
                "-addext",
                "keyUsage=critical,keyCertSign",
                "-keyout",
                key,
                "-out",
                certificate,
            ],
            check=True,
            capture_output=True,
        )
        return key.read_text(), certificate.read_text()


def _private_key() -> str:
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


KEY, CERTIFICATE = _certificate()

# Each key of the chart's Secrets, with a valid value.
SECRETS = {
    "pepper": PEPPER,
    "shared-secret": "0123456789abcdef0123456789abcdef",
    "cache-keys": "202601:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "token": "for-checks-only-0123456789",
    "url": "rediss://redis.example.com:6379/0",
    "password": "not-a-real-password",
    "ca.crt": CERTIFICATE,
    "tls.crt": CERTIFICATE,
    "tls.key": KEY,
    "AuthKey_2X9R4HXF34.p8": _private_key(),
    "answers.pem": _private_key(),
    "shop-webhook": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}
