// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// Why a file could not be read.
package struct FileFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file.
    let path: String
    /// What is wrong, in words that follow the path.
    package let description: String
}

extension String {
    /// Without the line ends that editors put at the end of a secret's file.
    package var withoutLineEnds: String { String(reversed().drop(while: \.isNewline).reversed()) }
}

/// Small text files: configuration, clients, secrets, certificates.
package enum TextFile {
    /// The largest file that is read; one of these is some kilobytes long.
    static let maximumBytes = 4 << 20

    /// The file's text.
    package static func read(_ path: String) throws(FileFault) -> String {
        // Looked at before it is read, and after: it may grow.
        guard CLibrary.signature(ofFile: path).map({ $0.size <= maximumBytes }) ?? true else { throw tooLarge(path) }
        guard let data = FileManager.default.contents(atPath: path) else {
            let exists = FileManager.default.fileExists(atPath: path)
            throw FileFault(path: path, description: exists ? "cannot be read" : "does not exist")
        }
        guard data.count <= maximumBytes else { throw tooLarge(path) }
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw FileFault(path: path, description: "is not UTF-8")
        }
        return text
    }

    private static func tooLarge(_ path: String) -> FileFault {
        FileFault(path: path, description: "is larger than \(maximumBytes) bytes")
    }
}
