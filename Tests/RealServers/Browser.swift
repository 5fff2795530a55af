// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import TestSupport

/// A real browser without a window: Chromium's headless shell.
public enum Browser {
    /// The result of loading a page.
    public struct Visit: Hashable, Sendable {
        /// The document as parsed by the browser, serialized as HTML.
        public let document: String
        /// The browser's complaints: refused scripts and styles, failed requests, errors of scripts.
        public let complaints: [String]
    }

    /// True if it is installed; `.ci/deps test` installs it.
    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program.path) }

    static let program = URL(filePath: "/usr/bin/chromium-headless-shell")

    /// Loads a page from a temporary file.
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

    /// The sandbox is off: tests run as root in containers, and the pages are our own.
    private static func arguments(for file: URL, _ folder: URL) -> [String] {
        [
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0",
            "--user-data-dir=\(folder.path)/profile", "--timeout=\(Int(Patience.forEvent / .milliseconds(1)))",
            "--dump-dom", "file://\(file.path)",
        ]
    }

    /// Returns lines such as `[1121/184137.5:INFO:CONSOLE:12] "Refused to …", source: … (12)`.
    private static func complaints(in output: String) -> [String] {
        output.split(separator: "\n").filter { $0.hasPrefix("[") && $0.contains(":CONSOLE") }.map(String.init)
    }
}

/// The error for a browser that ended without a document.
public struct BrowserError: Error, CustomStringConvertible {
    let output: String

    /// The browser's output.
    public var description: String { "the browser showed nothing: \(output.suffix(2000))" }
}
