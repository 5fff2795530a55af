# SPDX-License-Identifier: Apache-2.0
"""A stand-in for kubectl, for commands of the documentation: `kubectl.py POD COMMAND...`.

`exec` runs what follows `--` on this machine, with the variables of the pod and with the program of its image alone. `get secret` and
`patch secret` read and write the files that the pod has mounted. Other commands only check that what they name is in the
rendered chart. POD is a JSON file that runbooks.py writes.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

DEPLOYMENT = ("deploy", "deployment", "deployments")
# Commands that name a deployment, or pods by their labels.
NAMING = [["get", "pods"], ["describe", "pod"], ["describe"], ["logs"], ["rollout", "status"], ["rollout", "undo"], ["rollout", "restart"]]


def main(pod: dict, words: list[str]) -> int:
    if words[:2] in (["-n", pod["namespace"]], ["--namespace", pod["namespace"]]):
        words = words[2:]
    if words[:1] == ["exec"] and "--" in words:
        end = words.index("--")
        _is_the_deployment(pod, words[1:end])
        return _exec(pod, words[end + 1 :])
    if words[:2] == ["get", "secret"] and words[3:4] == ["-o"]:
        return _get(_secret(pod, words[2]), words[4:])
    if words[:2] == ["patch", "secret"] and words[3:4] == ["--patch"]:
        return _patch(_secret(pod, words[2]), words[4:])
    command = next((command for command in NAMING if words[: len(command)] == command), None)
    if command is None:
        raise SystemExit(f"kubectl: the stand-in does not know `{' '.join(words)}`")
    named = words[len(command) :]
    if named[:1] == ["-l"]:
        _selects(pod, named[1:])
    else:
        _is_the_deployment(pod, named)
    return 0


def _is_the_deployment(pod: dict, named: list[str]) -> None:
    kind, _, name = named[0].partition("/") if len(named) == 1 else ("", "", "")
    if kind not in DEPLOYMENT or name != pod["deployment"]:
        raise SystemExit(f"kubectl: {' '.join(named)} is not the chart's deployment, {pod['deployment']}")


def _selects(pod: dict, named: list[str]) -> None:
    labels = dict(pair.split("=", 1) for pair in named[0].split(",")) if len(named) == 1 else {}
    if not labels or labels.items() - pod["labels"].items():
        raise SystemExit(f"kubectl: -l {' '.join(named)} does not select the chart's pods, {pod['labels']}")


def _secret(pod: dict, name: str) -> Path:
    if name not in pod["secrets"]:
        raise SystemExit(f"kubectl: {name} is not a secret of the chart's pod, {sorted(pod['secrets'])}")
    return Path(pod["secrets"][name])


def _get(secret: Path, output: list[str]) -> int:
    """Prints one key, `jsonpath={.data.KEY}` with each dot of the key behind a backslash."""
    key = output[0].removeprefix("jsonpath={.data.").removesuffix("}").replace("\\.", "/").replace(".", "") if len(output) == 1 else ""
    file = secret / key.replace("/", ".")
    if not key or not file.is_file():
        raise SystemExit(f"kubectl: {' '.join(output)} is not the path of a key of the secret")
    print(base64.b64encode(file.read_bytes()).decode(), end="")
    return 0


def _patch(secret: Path, patches: list[str]) -> int:
    """Replaces keys in one step, as kubelet does."""
    (patch,) = map(json.loads, patches)
    if set(patch) != {"data"}:
        raise SystemExit(f"kubectl: the stand-in patches `data` alone, not {sorted(patch)}")
    for key, value in patch["data"].items():
        if not (secret / key).is_file():
            raise SystemExit(f"kubectl: the secret has no key {key}")
        written = secret / f".{key}"
        written.write_bytes(base64.b64decode(value, validate=True))
        written.replace(secret / key)
    return 0


def _exec(pod: dict, command: list[str]) -> int:
    program = shutil.which(command[0], path=pod["environment"]["PATH"])
    if program is None:
        raise SystemExit(f"kubectl: exec: {command[0]} is not in the image")
    return subprocess.run([program, *command[1:]], env=pod["environment"], stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2:]))
