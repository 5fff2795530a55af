// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct GatewayProgram: ParsableArguments {
    @Option(
        name: .customLong("gateway"),
        help: ArgumentHelp("The gateway's program (default: the one beside this program).", valueName: "path"))
    var chosen: String?

    var path: String { chosen ?? ThisProgram.neighbour("receipt-gateway") }
}

/// The form of results on standard output.
enum OutputFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case text
    case json
}

enum FileError: Error, Hashable, CustomStringConvertible {
    case notReadable(path: String)
    case notWritable(path: String)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .notWritable(let path): "Cannot write '\(path)'."
        }
    }

    static func text(of path: String) throws(FileError) -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw .notReadable(path: path) }
        return text
    }

    /// Writes the whole text or nothing.
    static func write(_ text: String, to path: String) throws(FileError) {
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw .notWritable(path: path)
        }
    }
}

extension ParsableArguments {
    func check(_ condition: Bool, _ message: String) throws(ValidationError) {
        guard condition else { throw ValidationError(message) }
    }
}
