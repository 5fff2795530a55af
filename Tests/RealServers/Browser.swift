// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A real browser without a window: Chromium's headless shell.
public enum Browser {
    /// What a page became in a browser.
    public struct Visit: Hashable, Sendable {
        /// The document as the browser understood it, written back as HTML.
        public let document: String
        /// What the browser complained of: refused scripts and styles, failed requests, faults of scripts.
        public let complaints: [String]
    }

    /// Whether it is installed; `.ci/deps test` does so.
    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program.path) }

    static let program = URL(filePath: "/usr/bin/chromium-headless-shell")

    /// Loads a page from a file of its own.
    public static func visit(_ page: String) throws -> Visit {
        let folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "page.html"), output = folder.appending(path: "output")
        try Data(page.utf8).write(to: file)
        let browser = try ChildProcess(program, arguments(for: file, folder), folder: folder, output: output)
        let status = browser.wait()
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        guard status == 0, let start = text.range(of: "<!DOCTYPE html>") else { throw BrowserError(output: text) }
        return Visit(document: String(text[start.lowerBound...]), complaints: complaints(in: text))
    }

    /// No sandbox: tests run as root in containers, and the pages are our own.
    private static func arguments(for file: URL, _ folder: URL) -> [String] {
        [
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0",
            "--user-data-dir=\(folder.path)/profile", "--timeout=30000", "--dump-dom", "file://\(file.path)",
        ]
    }

    /// `[1121/184137.5:INFO:CONSOLE:12] "Refused to …", source: … (12)`
    private static func complaints(in output: String) -> [String] {
        output.split(separator: "\n").filter { $0.hasPrefix("[") && $0.contains(":CONSOLE") }.map(String.init)
    }
}

/// The browser ended without a document.
public struct BrowserError: Error, CustomStringConvertible {
    let output: String

    /// What it said.
    public var description: String { "the browser showed nothing: \(output.suffix(2000))" }
}
