# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the runbooks and of docs/kubernetes.md as they stand: in the rendered chart's pod, with a stand-in for kubectl.

The pod has a real Redis, a simulated Apple, and a receiver of webhooks. Each `sh` block that is marked `in a pod`, and each
command of kubectl within a sentence, must succeed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import yaml

from chart import NAMESPACE, REPOSITORY, Rendered
from configuration import CLIENTS, Pod
from drill.fleet import APP, WEBHOOK_KEY, Receiver, Redis
from drill.processes import Program, fetch, free_port, start_apple, wait_until
from report import Report

sys.path.append(str(REPOSITORY / "docs" / "test"))
import pages  # noqa: E402

KUBERNETES = REPOSITORY / "docs" / "kubernetes.md"
RUNBOOKS = sorted((REPOSITORY / "docs" / "runbooks").glob("*.md"))
# The release that docs/kubernetes.md installs.
RELEASE = "receipt-gateway"
# The longest command waits a minute for Apple's test notification.
SECONDS = 120
# Commands in sentences: `kubectl …`, and not the names of its commands.
INLINE = re.compile(r"(?<!`)`(kubectl (?!config )[^`]* [^`]*(?<! --))`(?!`)", re.S)
# A command that a pod would end with status 78, or would not find.
BARE = re.compile(r"(?:^|`)(?:receipt-gateway (?!--)[a-z]|(?:events|notifications|webhook|verifications) [a-z]+ --)", re.M)


def run(report: Report, gateway: Path, loadtest: Path) -> None:
    report.check("runbooks: every command says where it is run", _complete)
    report.check("runbooks: the stand-in for kubectl refuses what a cluster would", lambda: _refuses(gateway))
    found = {page: _commands(page) for page in [*RUNBOOKS, KUBERNETES]}
    with tempfile.TemporaryDirectory() as folder:
        try:
            with _cluster(Path(folder), gateway, loadtest) as environment:
                for page, commands in found.items():
                    if commands:
                        name = page.relative_to(REPOSITORY)
                        report.check(f"{name}: its commands work in a pod", lambda commands=commands: _run(commands, environment))
                report.check(f"{KUBERNETES.name}: its commands replace an API key without a gap", lambda: _rotate(environment))
        except (RuntimeError, TimeoutError, subprocess.CalledProcessError) as fault:
            report.check("runbooks: the pod starts", lambda: _fail(fault))


def _commands(page: Path) -> list[str]:
    """The commands of a page that are run in a pod, in order of their kind: blocks, then those within sentences."""
    text = page.read_text()
    blocks = [block.text for block in pages.read(page).blocks if "in a pod" in block.markers]
    sentences = re.sub(r"```.*?```", "", text, flags=re.S)
    return blocks + [" ".join(command.split()) for command in INLINE.findall(sentences)]


def _complete() -> None:
    faults = [
        f"{page.relative_to(REPOSITORY)}:{text.count(chr(10), 0, bare.start()) + 1}: {bare[0].strip('`')}…"
        for page in RUNBOOKS
        for text in [page.read_text()]
        for bare in BARE.finditer(text)
    ]
    assert not faults, "write `kubectl exec deploy/receipt-gateway -- receipt-gateway …`:\n" + "\n".join(faults)
    assert sum(len(_commands(page)) for page in RUNBOOKS) > 20, "found no commands"


def _run(commands: list[str], environment: dict[str, str]) -> str:
    """Runs each command, in a shell of its own and one folder. Returns what the last printed on standard error."""
    for command in commands:
        found = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            env=environment, cwd=environment["HOME"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS,
        )
        assert found.returncode == 0, f"{command.strip()}\nends with {found.returncode}:\n{found.stdout}{found.stderr}"
    return found.stderr


def _rotate(environment: dict[str, str]) -> None:
    """Runs the commands for an API key twice: each adds a key, and removes the key before."""
    (add, remove) = [block.text for block in pages.read(KUBERNETES).blocks if "EDITOR" in block.text]
    keys = []
    for _ in range(2):
        found = _run([add], environment)
        keys.append(re.search(r"rgk_\w+\.\S+", found)[0])
        for key in keys[-2:]:
            _expect(environment["NODE"], key, 200)
        _run([remove], environment)
        _expect(environment["NODE"], keys[-1], 200)
    _expect(environment["NODE"], keys[0], 401)


def _expect(node: str, key: str, status: int) -> None:
    """Waits until the node has loaded the files."""
    status_page = f"{node}/v1/status"
    wait_until(f"a key gets {status}", lambda: fetch(status_page, headers={"X-API-Key": key})[0] == status, seconds=30)


def _refuses(gateway: Path) -> None:
    """Proves that the checks can fail."""
    with tempfile.TemporaryDirectory() as folder:
        rendered = _rendered({})
        environment = _operator(Path(folder), Pod(rendered, Path(folder)), rendered, gateway)
        exec_ = f"kubectl exec deploy/{RELEASE} --"
        for command in [
            f"{exec_} redis-cli ping",
            f"{exec_} receipt-gateway health",
            f"{exec_} receipt-gateway check-config --config /nowhere",
            "kubectl get secret gateway-client -o jsonpath='{.data.pepper}'",
            "kubectl get secret gateway-clients -o jsonpath='{.data.clients.yaml}'",
            "kubectl patch secret gateway-clients --patch '{\"data\": {\"clients.yaml\": \"not base64\"}}'",
            "kubectl exec deploy/gateway -- receipt-gateway check-config",
            "kubectl get pods -l app=receipt-gateway",
            "receipt-gateway check-config",
        ]:
            found = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True)
            assert found.returncode != 0, f"succeeds: {command}"
        _run([f"{exec_} receipt-gateway check-config", f"kubectl -n {NAMESPACE} get pods -l app.kubernetes.io/name={RELEASE}"], environment)


def _fail(fault: Exception) -> None:
    raise fault


# The pod


def _rendered(values: dict) -> Rendered:
    return Rendered({"secrets": {"clients": {"existingSecret": "gateway-clients"}}} | values, release=RELEASE)


@contextmanager
def _cluster(folder: Path, gateway: Path, loadtest: Path):
    """The environment of an operator whose cluster has one node."""
    receipts = folder / "receipts"
    subprocess.run([loadtest, "corpus", "--out", receipts, "--count", "1"], check=True, capture_output=True)
    redis, receiver = Redis(folder), Receiver()
    apple, urls = start_apple(loadtest, receipts, folder, "--customers", "1", "--customers-app", APP)
    rendered = _rendered(_values(redis, urls, receipts))
    pod = Pod(rendered, folder / "pod", _clients(receiver, apple.log.read_text()))
    node = None
    try:
        node, origin = _node(folder, pod, gateway, urls)
        yield _operator(folder, pod, rendered, gateway) | {"REDIS_URL": redis.url, "NODE": origin}
    finally:
        for program in (node, apple, redis.program):
            if program:
                program.stop()
        receiver.close()


def _values(redis: Redis, urls: dict[str, str], receipts: Path) -> dict:
    hosts = {f"{name}_url": url.removesuffix("/verifyReceipt") for name, url in urls.items()}
    return {
        "replicaCount": 1,
        "redis": {"url": redis.url},
        "networkPolicy": {"redis": {"ports": [int(redis.url.rpartition(":")[2])]}},
        "secrets": {
            "clients": {"existingSecret": "gateway-clients"},
            "cacheKeys": {"existingSecret": "gateway-cache-keys"},
        },
        "config": {
            "trust_roots": [str(receipts / "root.pem"), f"{receipts / 'jws-root.pem'}=Production+Sandbox"],
            "apple": {f"{name}_url": url for name, url in urls.items()} | {"server_api": hosts},
            "webhooks": {"allow_http": True, "allow_private_addresses": True},
        },
    }


def _clients(receiver: Receiver, printed: str) -> str:
    """The clients file that the pages speak of: `shop/crm`, and a key of the App Store Server API."""
    webhook = {"name": "crm", "url": receiver.url, "apps": [APP], "secrets": [WEBHOOK_KEY]}
    client = yaml.safe_load(CLIENTS)["clients"][0] | {"name": "shop", "apps": [APP], "webhooks": [webhook]}
    key = yaml.safe_load(printed[printed.index("server_api:") :])
    return yaml.safe_dump({"clients": [client]} | key)


def _node(folder: Path, pod: Pod, gateway: Path, urls: dict[str, str]) -> tuple[Program, str]:
    """Starts the pod's own process, on free ports, and tells Apple its URL. Returns the process and the URL."""
    http, admin = free_port(), free_port()
    origin = f"http://127.0.0.1:{http}"
    pod.environment |= {
        "GATEWAY_HTTP_HOST": "127.0.0.1", "GATEWAY_HTTP_PORT": str(http),
        "GATEWAY_ADMIN_HOST": "127.0.0.1", "GATEWAY_ADMIN_PORT": str(admin),
        "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
    }
    node = Program("gateway", [gateway, "serve"], folder, pod.environment)
    node.expect("is ready", lambda: fetch(f"http://127.0.0.1:{admin}/readyz")[0] == 200)
    for environment, url in urls.items():
        target = {
            "bundle_id": APP, "environment": environment, "version": 2,
            "url": f"{origin}/apple/notifications",
        }
        status, body = fetch(url.replace("/verifyReceipt", "/notifications"), json.dumps(target).encode(), "PUT")
        if status // 100 != 2:
            raise RuntimeError(f"the simulator rejects {target}: {status} {body.decode()}")
    return node, origin


def _secrets(deployment: dict, pod: Pod) -> dict[str, str]:
    """The folders of the mounted secrets, by name."""
    spec = deployment["spec"]["template"]["spec"]
    names = {volume["name"]: volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume}
    mounts = spec["containers"][0]["volumeMounts"]
    return {names[mount["name"]]: str(pod.folder / mount["mountPath"].lstrip("/")) for mount in mounts if mount["name"] in names}


def _operator(folder: Path, pod: Pod, rendered: Rendered, gateway: Path) -> dict[str, str]:
    """The environment of a shell with the stand-in for kubectl, and without the gateway."""
    image, commands = folder / "image", folder / "commands"
    image.mkdir()
    commands.mkdir()
    (image / "receipt-gateway").symlink_to(gateway)
    deployment = rendered.only("Deployment")
    (folder / "pod.json").write_text(json.dumps({
        "deployment": deployment["metadata"]["name"],
        "namespace": NAMESPACE,
        "labels": deployment["spec"]["template"]["metadata"]["labels"],
        "secrets": _secrets(deployment, pod),
        "environment": pod.environment | {"PATH": str(image)},
    }))
    for name, arguments in {"kubectl": [str(folder / "pod.json")], "editor": []}.items():
        words = [sys.executable, str(Path(__file__).with_name(f"{name}.py")), *arguments]
        (commands / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (commands / name).chmod(0o755)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(folder), "EDITOR": "editor"}
