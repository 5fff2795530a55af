# SPDX-License-Identifier: Apache-2.0
"""Checks that print a line each, and a record of the methods that were called with success."""

from __future__ import annotations

import inspect
import traceback
from typing import Any, Callable

from appstoreserverlibrary.api_client import APIException


class Checks:
    def __init__(self) -> None:
        self.passed = self.failed = 0
        # Apple's error codes that were provoked.
        self.codes: set[int] = set()

    def check(self, name: str, action: Callable[[], Any]) -> Any:
        """Prints whether the action ends without an error, and returns its value or None."""
        try:
            value = action()
        except Exception as fault:  # Whatever a library raises is a finding.
            self.failed += 1
            place = traceback.extract_tb(fault.__traceback__)[-1]
            text = f"{type(fault).__name__}: {described(fault)}".replace("\n", " ")
            print(f"not ok {name}: {text} ({place.name}, line {place.lineno})")
            return None
        self.passed += 1
        print(f"ok {name}")
        return value

    def refused(self, name: str, status: int, code: int | None, action: Callable[[], Any]) -> None:
        """Checks that the action raises Apple's error of this code, with this HTTP status."""

        def attempt() -> None:
            try:
                action()
            except APIException as error:
                found = (error.http_status_code, error.raw_api_error)
                assert found == (status, code), f"answered {found}, not {(status, code)}"
                assert code is None or error.api_error is not None, "the library does not know this code"
                assert code is None or error.error_message, "there is no message"
                self.codes |= {code} if code else set()
            else:
                raise AssertionError("was not refused")

        self.check(f"{status} {code or 'without a code'}: {name}", attempt)

    def close(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1


def described(fault: BaseException) -> str:
    """The parts of an error that the library leaves out of its text."""
    if isinstance(fault, APIException):
        return f"HTTP {fault.http_status_code}, {fault.raw_api_error} {fault.error_message}"
    status = getattr(fault, "status", None)
    return str(fault) if status is None else f"{status.name} {fault.__cause__!r}"


def public_methods(type_: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(type_, inspect.isfunction) if not name.startswith("_")}


class Recorded:
    """An object whose public methods are recorded when they return."""

    def __init__(self, wrapped: Any, succeeded: set[str]) -> None:
        self._wrapped, self._succeeded = wrapped, succeeded

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._wrapped, name)

        def call(*arguments: Any, **named: Any) -> Any:
            value = method(*arguments, **named)
            self._succeeded.add(name)
            return value

        return call
