// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The executable that runs.
enum ThisProgram {
    /// Where it lies.
    static var path: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    static var processIdentifier: Int { Int(ProcessInfo.processInfo.processIdentifier) }

    /// A program in the same folder: what was built together lies together.
    static func neighbour(_ name: String) -> String {
        URL(filePath: path).deletingLastPathComponent().appending(path: name).path
    }
}
