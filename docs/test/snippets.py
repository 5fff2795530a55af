# SPDX-License-Identifier: Apache-2.0
"""Compiles every Swift block of README.md and of the library's documentation, as a package that depends on this one.

A package of its own takes half a minute longer than this package's built modules on a search path. But it sees what a
reader sees: library products only, what is public in them only, and whether a package can depend on this one at all.
Each block is a module of one file, compiled as it is written, and warnings are errors. A block that begins with
`.package(` is one element of a manifest.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from report import Report
from shell import REPOSITORY

PRODUCTS = ["Receipts", "ReceiptsFoundation"]
LIBRARIES = [REPOSITORY / "Sources" / name for name in PRODUCTS]
# Kept, so that only the first run compiles the library.
FOLDER = REPOSITORY / ".build" / "snippets"
IDENTITY = REPOSITORY.name.lower()

_BLOCK = re.compile(r"^( *)```swift\n(.*?)^\1```$", re.M | re.S)
_COMMENT = re.compile(r" *///(?: (.*))?$")


@dataclass(frozen=True)
class Snippet:
    """One block."""

    place: str
    text: str

    @property
    def module(self) -> str:
        return re.sub(r"\W+", "_", self.place)

    @property
    def is_dependency(self) -> bool:
        return self.text.startswith(".package(")


def run(report: Report) -> None:
    snippets: list[Snippet] = []
    with contextlib.suppress(AssertionError):
        snippets = _found()
    report.check("README.md and the library have Swift blocks", _found)
    if snippets:
        report.check("every Swift block compiles in a package that depends on this one", lambda: _compile(snippets))


def _found() -> list[Snippet]:
    pages = [REPOSITORY / "README.md"]
    pages += [path for folder in LIBRARIES for path in sorted(folder.rglob("*.md"))]
    sources = [path for folder in LIBRARIES for path in sorted(folder.rglob("*.swift"))]
    texts = [(path, path.read_text()) for path in pages] + [(path, _comments(path.read_text())) for path in sources]
    snippets = [snippet for path, text in texts for snippet in _blocks(path, text)]
    for path in [REPOSITORY / "README.md", LIBRARIES[0] / "Receipts.docc" / "Receipts.md"]:
        assert any(snippet.place.startswith(_name(path)) for snippet in snippets), f"{_name(path)} has no Swift block"
    return snippets


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def _comments(source: str) -> str:
    """The documentation comments of a source file, each line where it stands."""
    lines = [_COMMENT.match(line) for line in source.splitlines()]
    return "".join((line[1] or "" if line else "") + "\n" for line in lines)


def _blocks(path: Path, text: str) -> list[Snippet]:
    assert text.count("```swift") == len(_BLOCK.findall(text)), f"{_name(path)}: a Swift block without an end"
    return [
        Snippet(
            f"{_name(path)}:{text.count(chr(10), 0, block.start()) + 1}",
            re.sub(f"^{block[1]}", "", block[2], flags=re.M),
        )
        for block in _BLOCK.finditer(text)
    ]


def _compile(snippets: list[Snippet]) -> None:
    package = FOLDER / "package"
    modules = [snippet for snippet in snippets if not snippet.is_dependency]
    _write(package / "Package.swift", _manifest(modules))
    for old in (package / "Sources").glob("*"):
        if old.name not in {snippet.module for snippet in modules}:
            (old / "Snippet.swift").unlink()
            old.rmdir()
    for snippet in modules:
        _write(package / "Sources" / snippet.module / "Snippet.swift", snippet.text)
    _swift("build", "--package-path", package, "--scratch-path", FOLDER / "build")
    for snippet in snippets:
        if snippet.is_dependency:
            _write(FOLDER / snippet.module / "Package.swift", _manifest([], snippet.text))
            _swift("package", "dump-package", "--package-path", FOLDER / snippet.module)


def _manifest(modules: list[Snippet], dependency: str = f'.package(path: "{REPOSITORY}")') -> str:
    products = "".join(f'.product(name: "{name}", package: "{IDENTITY}"), ' for name in PRODUCTS)
    targets = "".join(
        f'        .target(name: "{snippet.module}", dependencies: [{products}],'
        " swiftSettings: [.treatAllWarnings(as: .error)]),\n"
        for snippet in modules
    )
    return (
        "// swift-tools-version: 6.2\nimport PackageDescription\n\n"
        f'let package = Package(\n    name: "snippets",\n    dependencies: [\n{dependency}\n    ],\n    targets: [\n{targets}    ])\n'
    )


def _write(path: Path, text: str) -> None:
    """Only what is new, so that nothing else is compiled again."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _swift(*arguments: object) -> None:
    found = subprocess.run(["swift", *map(str, arguments)], capture_output=True, text=True)
    assert found.returncode == 0, f"{found.stdout[-6000:]}\n{found.stderr[-2000:]}"
