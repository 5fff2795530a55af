// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Where a page goes.
struct PageFile: Sendable {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// `result.html` for `result.json`.
    static func beside(_ result: String) -> String {
        result.hasSuffix(".json") ? result.dropLast(5) + ".html" : result + ".html"
    }

    /// Writes the page, all of it or nothing, and says where it is.
    func write(_ page: String) throws(PageFileError) {
        if path == "-" { return StandardOutput.write(page) }
        do {
            try Data(page.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw .notWritable(path: path)
        }
        StandardError.write("The page is in \(path).\n")
    }
}

/// Why there is no page.
enum PageFileError: Error, Hashable, CustomStringConvertible {
    case notWritable(path: String)

    var description: String {
        switch self {
        case .notWritable(let path): "Cannot write '\(path)'."
        }
    }
}
