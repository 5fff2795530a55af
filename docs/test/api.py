# SPDX-License-Identifier: Apache-2.0
"""docs/api.yaml and the running gateway: `api.py GATEWAY LOADTEST [NAME...]`. `.ci/api` calls it.

The document is valid. Three generators make clients from it; each client verifies a receipt with a gateway, and reads a
problem. Then schemathesis sends random requests, good and bad, to a gateway with a simulated Apple, and compares every
answer with the document. docs/test/schemathesis.toml has its seed, its bounds, and what is left out and why. A NAME is
one of `valid`, `generators` and `requests`.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import openapi_spec_validator
import yaml

from clients import PEPPER, Stage
from drill.processes import Program, create_key
from form_clients import account
from report import Report
from shell import REPOSITORY, SECONDS

DOCUMENT, HERE = REPOSITORY / "docs" / "api.yaml", Path(__file__).parent
TOOLS = Path(sys.executable).parent
RECEIPT = "genuine-1.b64"
# The most aliases that a YAML parser of Java's reads, and so OpenAPI Generator.
ALIASES = 50
# The longest that a program may take, schemathesis included.
MOST_SECONDS = 900
TOKEN = "for-checks-only-0123456789"


def main() -> int:
    if len(sys.argv) < 3:
        print("api: give the paths of receipt-gateway and receipt-loadtest", file=sys.stderr)
        return 64
    gateway, loadtest = (Path(path).resolve() for path in sys.argv[1:3])
    chosen, report = sys.argv[3:], Report()
    if not chosen or "valid" in chosen:
        report.check("docs/api.yaml is a valid OpenAPI document", _validate)
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(gateway, loadtest, Path(name))
        try:
            if not chosen or "generators" in chosen:
                for check in (openapi_python_client, datamodel_codegen, typescript_fetch):
                    report.check(check.__doc__, lambda check=check: _used(check, stage))
            if not chosen or "requests" in chosen:
                keys, settings = _settings(stage)
                for plane in ("data", "admin"):
                    title = f"the {plane} plane answers random requests as docs/api.yaml says"
                    report.check(title, lambda plane=plane: _request(plane, stage, keys, settings))
        finally:
            Program.stop_all()
    return report.close()


def _validate() -> None:
    text = DOCUMENT.read_text()
    openapi_spec_validator.validate(yaml.safe_load(text))
    aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
    assert aliases <= ALIASES, f"{aliases} YAML aliases; OpenAPI Generator reads {ALIASES}: use $ref"


# Generators


def _used(check, stage: Stage) -> None:
    folder = Path(tempfile.mkdtemp(dir=stage.folder))
    with stage.running() as gateway:
        check(folder, gateway.url, (stage.receipts / RECEIPT).read_text().strip(), stage.app(RECEIPT))


def openapi_python_client(folder: Path, url: str, receipt: str, app: str) -> None:
    """a client by openapi-python-client verifies a receipt and reads a problem"""
    # By default the generator knows no pictures.
    (folder / "options.yaml").write_text("content_type_overrides: {image/png: application/octet-stream}\n")
    words = ["--path", DOCUMENT, "--output-path", folder / "python_client", "--meta", "none"]
    said = _run(folder, "openapi-python-client", "generate", *words, "--config", folder / "options.yaml")
    assert "WARNING" not in said, said
    sys.path.insert(0, str(folder))
    package = importlib.import_module("python_client")
    verify = importlib.import_module("python_client.api.verification.verify")
    models = importlib.import_module("python_client.models")
    client = package.Client(base_url=url)
    answer = verify.sync(client=client, body=models.ReceiptRequest(receipt=receipt, bundle_id=app))
    assert isinstance(answer, models.VerifyAnswer) and answer.verdict == models.VerifyAnswerVerdict.GENUINE, answer
    assert answer.transactions and answer.provenance.verified_at.tzinfo, answer
    problem = verify.sync(client=client, body=models.ReceiptRequest(receipt=receipt, bundle_id=""))
    assert isinstance(problem, models.Problem) and problem.code == models.ProblemCode.INVALID_BODY, problem
    assert problem.field == "bundle_id", problem


def datamodel_codegen(folder: Path, url: str, receipt: str, app: str) -> None:
    """models by datamodel-codegen make a request, and read its answer and a problem"""
    words = ["--input", DOCUMENT, "--input-file-type", "openapi", "--output", folder / "python_models.py"]
    _run(folder, "datamodel-codegen", *words, "--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin")
    sys.path.insert(0, str(folder))
    models = importlib.import_module("python_models")
    body = models.ReceiptRequest(receipt=receipt, bundle_id=app).model_dump_json(exclude_unset=True)
    posted = httpx.post(f"{url}/v1/verify", content=body, headers={"content-type": "application/json"})
    answer = models.VerifyAnswer.model_validate_json(posted.content)
    assert answer.verdict == models.Verdict.genuine and answer.transactions, answer
    posted = httpx.post(f"{url}/v1/verify", json={"receipt": receipt, "bundle_id": ""})
    problem = models.Problem.model_validate_json(posted.content)
    assert problem.code == models.Code.invalid_body and problem.field == "bundle_id", problem


def typescript_fetch(folder: Path, url: str, receipt: str, app: str) -> None:
    """a client by OpenAPI Generator's typescript-fetch verifies a receipt and reads a problem"""
    words = ["-i", DOCUMENT, "-g", "typescript-fetch", "-o", folder / "generated"]
    said = _run(folder, "openapi-generator-cli", "generate", *words)
    # It leaves `mutualTLS` out, and reports that for each operation: a certificate is set at the HTTP library.
    errors = [line for line in said.splitlines() if " ERROR " in line and "Unknown type `mutualTLS`" not in line]
    assert not errors, errors
    (folder / "client.ts").write_text((HERE / "client.ts").read_text())
    options = ["--target", "es2020", "--module", "commonjs", "--lib", "es2020,dom", "--outDir", folder / "compiled"]
    _run(folder, "tsc", *options, folder / "client.ts")
    said = json.loads(_run(folder, "node", folder / "compiled" / "client.js", url, receipt, app))
    assert said == {"verdict": "genuine", "dates": True, "code": "invalid_body", "field": "bundle_id"}, said


# Random requests


def _settings(stage: Stage) -> tuple[dict[str, str], dict[str, str]]:
    """Keys, one that may do everything but what apps with plugins do, and settings with which most operations succeed."""
    key, settings = stage.limits(1_000_000, "1s")
    plugin_key, plugin_entry = create_key(stage.gateway, PEPPER)
    # The simulator prints the key of its App Store Server API in the form of a clients file.
    printed = stage.simulator.expect(
        "prints its key", lambda: re.search(r"^server_api:\n(  .+\n){3}", stage.simulator.last_words(), re.M), SECONDS
    )
    file = Path(settings["GATEWAY_CLIENTS_FILE"])
    clients = json.loads(file.read_text()) | yaml.safe_load(printed[0])
    client = clients["clients"][0]
    clients["clients"] += json.loads(Path(account(stage)["GATEWAY_CLIENTS_FILE"]).read_text())["clients"]
    client |= {
        "name": "schemathesis",
        "apps": [stage.app(RECEIPT)],
        "may": ["purge", "ownership", "erase", "sign"],
        "signatures": {stage.app(RECEIPT): {"advanced_commerce": "*"}},
        "apple": ["read", "write", "mass", "commerce"],
        "unknown_ids_per_minute": 1_000_000,
    }
    clients["clients"].append({
        "name": "app",
        "apps": [stage.app(RECEIPT)],
        "plugins": ["cordova-plugin-purchase", "openiap"],
        "keys": [plugin_entry],
        "limits": client["limits"],
    })
    file.write_text(json.dumps(clients))
    signing = stage.folder / "answers.pem"
    words = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", signing]
    subprocess.run(words, check=True, capture_output=True)
    return {"KEY": key, "PLUGIN_KEY": plugin_key}, settings | {
        "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": stage.apple["production"].removesuffix("/verifyReceipt"),
        "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": stage.apple["sandbox"].removesuffix("/verifyReceipt"),
        "GATEWAY_EVENTS_KEEP_SIGNED_DATA": "true",
        "GATEWAY_NOTIFICATIONS_ALLOW_VOLATILE": "true",
        "GATEWAY_NOTIFICATIONS_TOKEN": TOKEN,
        "GATEWAY_SIGNED_ANSWERS_KEY_FILES": str(signing),
    }


def _request(plane: str, stage: Stage, keys: dict[str, str], settings: dict[str, str]) -> None:
    with stage.running(**settings) as gateway:
        port = gateway.port if plane == "data" else gateway.admin
        words = ["--url", f"http://127.0.0.1:{port}"]
        words += ["--include-tag" if plane == "admin" else "--exclude-tag", "Operations"]
        environment = {"KNOWN_APP": stage.app(RECEIPT), "TOKEN": TOKEN} | keys
        words = ["--config-file", HERE / "schemathesis.toml", "run", DOCUMENT, *words]
        _run(stage.folder, "schemathesis", *words, **environment)


def _run(folder: Path, program: str, *words: object, **environment: str) -> str:
    """What a program printed in a folder, where it may leave files; it must end with 0."""
    command = [program, *(str(word) for word in words)]
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", **environment}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{program} ended with {done.returncode}:\n{said[-20_000:]}"
    return said


if __name__ == "__main__":
    sys.exit(main())
