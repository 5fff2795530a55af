# SPDX-License-Identifier: Apache-2.0
"""Checks the chart: `check.py GATEWAY`, with the path of a receipt-gateway binary. Called by `.ci/helm`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import configuration
import dashboards
import documents
import examples
import manifests
import rules
import suites
from report import Report


def main() -> int:
    binary = Path(sys.argv[1] if len(sys.argv) > 1 else "")
    if not binary.is_file() or not os.access(binary, os.X_OK):
        print(f"helm: {binary} is not an executable; give the path of a receipt-gateway binary", file=sys.stderr)
        return 64
    report = Report()
    suites.run(report)
    manifests.run(report)
    configuration.run(report, binary.resolve())
    rules.run(report)
    dashboards.run(report)
    examples.run(report, binary.resolve())
    documents.run(report, binary.resolve())
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
