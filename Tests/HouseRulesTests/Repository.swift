// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of this repository, as text.
struct Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File: Sendable {
        /// The path from the root, such as `Sources/Receipts/Rule.swift`.
        let path: String
        let text: String

        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns all Swift files in these folders.
    static func swiftFiles(in folders: [String]) throws -> [File] {
        try files(in: folders, named: /.*\.swift/)
    }

    /// Returns the files in these folders whose path matches.
    static func files(in folders: [String], named pattern: some RegexComponent) throws -> [File] {
        try folders.flatMap { folder in
            let below = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
            let paths = below?.compactMap { $0 as? String } ?? []
            return try paths.filter { $0.wholeMatch(of: pattern) != nil }.map { name in
                File(path: "\(folder)/\(name)", text: try text("\(folder)/\(name)"))
            }
        }
    }
}

/// The targets of Package.swift and their dependencies, read as text.
struct Manifest {
    /// The local targets by name, each with the local targets it depends on.
    let dependencies: [String: Set<String>]

    init(_ text: String) {
        let declaration = /\.(?:target|executableTarget|testTarget|systemLibrary)\(\s*name: "(\w+)"/
        let matches = text.matches(of: declaration)
        let names = Set(matches.map { String($0.output.1) })
        var dependencies: [String: Set<String>] = [:]
        for (index, match) in matches.enumerated() {
            let end = index + 1 < matches.count ? matches[index + 1].range.lowerBound : text.endIndex
            let block = text[match.range.upperBound..<end].prefix { $0 != "]" }
            let list = block.split(separator: "dependencies: [").dropFirst().first ?? ""
            let named = list.replacing(/\.product\(.*\)/, with: "").matches(of: /"(\w+)"/).map { String($0.output.1) }
            dependencies[String(match.output.1)] = Set(named).intersection(names)
        }
        self.dependencies = dependencies
    }
}
