# SPDX-License-Identifier: Apache-2.0
"""The operator's editor of the clients file, for commands of docs/kubernetes.md: `editor.py FILE`.

Moves the lines that `hash-key` printed, at the end of the file, to the keys of the first client. Without such lines it removes
the client's oldest key.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml


def edited(text: str) -> str:
    printed = re.search(r"^ +- id: rgk_\w+\n +hash: \S+\n\Z", text, re.M)
    content = yaml.safe_load(text[: printed.start()] if printed else text)
    keys = content["clients"][0]["keys"]
    if printed:
        keys += yaml.safe_load(printed[0])
    else:
        del keys[0]
    return yaml.safe_dump(content)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(edited(file.read_text()))
