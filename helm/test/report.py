# SPDX-License-Identifier: Apache-2.0
"""Counts checks and prints the failures."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


class Report:
    """The results of checks. A check raises AssertionError or TimeoutError with the correction.

    The variable `CHECKS`, if it is set, has the names of the only checks to run, each on a line.
    """

    def __init__(self):
        self.passed = 0
        self.failures: list[str] = []
        self._only = os.environ.get("CHECKS", "").splitlines()

    def check(self, name: str, body: Callable[[], None]) -> None:
        if self._only and name not in self._only:
            return
        try:
            body()
        except (AssertionError, TimeoutError) as failure:
            self._fail(name, str(failure) or "failed")
        except Exception:  # A defect of the check itself: show where.
            self._fail(name, traceback.format_exc())
        else:
            self.passed += 1
            # What passed is shown only to a repetition, which must know that it ran.
            if self._only:
                print(f"ok {name}", flush=True)

    def _fail(self, name: str, why: str) -> None:
        self.failures.append(name)
        print(f"FAILED {name}\n  " + why.strip().replace("\n", "\n  "), flush=True)

    def close(self) -> int:
        """Prints the summary line and returns the exit status."""
        print(f"{self.passed} passed, {len(self.failures)} failed")
        if self.passed == 0:
            print("helm: no check ran")
            return 1
        return 1 if self.failures else 0
