# SPDX-License-Identifier: Apache-2.0
"""`listens.py PID`: waits until a server has both its ports open, as each of this repository's programs has two.

A person types more slowly than a server starts; a script does not.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

LISTENING, SECONDS = "0A", 120


def sockets(process: int) -> set[str]:
    links = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.append(os.readlink(link))
        except OSError:
            continue
    return {match[1] for link in links if (match := re.match(r"socket:\[(\d+)\]", link))}


def listening() -> set[str]:
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == LISTENING}


def main() -> int:
    process, end = int(sys.argv[1]), time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if len(sockets(process) & listening()) >= 2:
                return 0
        except OSError:
            break
        time.sleep(0.02)
    print("the server does not listen", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
