# SPDX-License-Identifier: Apache-2.0
"""Checks the chart: `check.py GATEWAY LOADTEST`, with the paths of the binaries. Called by `.ci/helm`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import configuration
import dashboards
import documents
import examples
import manifests
import readme
import rules
import runbooks
import suites
from drill.processes import Program
from report import Report


def main() -> int:
    binaries = [Path(path) for path in sys.argv[1:3]]
    if len(binaries) < 2 or not all(path.is_file() and os.access(path, os.X_OK) for path in binaries):
        print("helm: give the paths of receipt-gateway and receipt-loadtest", file=sys.stderr)
        return 64
    binary, loadtest = (path.resolve() for path in binaries)
    report = Report()
    suites.run(report)
    manifests.run(report)
    readme.run(report)
    configuration.run(report, binary)
    rules.run(report)
    dashboards.run(report)
    examples.run(report, binary)
    documents.run(report, binary)
    runbooks.run(report, binary, loadtest)
    return report.close()


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        Program.stop_all()
