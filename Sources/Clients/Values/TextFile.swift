// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

package struct FileFault: Error, Hashable, Sendable, CustomStringConvertible {
    let path: String
    /// The fault, in words that follow the path.
    package let description: String

    package init(path: String, description: String) {
        (self.path, self.description) = (path, description)
    }
}

extension String {
    /// The text without trailing line ends, which editors add to a secret's file.
    package var withoutLineEnds: String { String(reversed().drop(while: \.isNewline).reversed()) }
}

/// Reads small text files: configuration, clients, secrets, certificates.
package enum TextFile {
    /// The maximum size of a file; most are a few kilobytes.
    static let maximumBytes = 4 << 20

    package static func read(_ path: String) throws(FileFault) -> String {
        // Never more: a device has no size, and no end.
        guard let bytes = CLibrary.bytes(ofFile: path, maximum: maximumBytes + 1) else {
            throw FileFault(path: path, description: fault(ofReading: path))
        }
        guard bytes.count <= maximumBytes else {
            throw FileFault(path: path, description: "is larger than \(maximumBytes) bytes")
        }
        // Passes over the mark that editors of Windows begin a file with.
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw FileFault(path: path, description: beginsLikeDER(bytes) ? derFault : "is not UTF-8")
        }
        return text
    }

    private static let derFault =
        "is DER, and must be PEM; convert a certificate with: openssl x509 -inform DER -in FILE -out FILE.pem"

    /// Returns true for the first bytes of a SEQUENCE with a long length (X.690 §8.1.3.5), as a certificate has. They are
    /// never UTF-8.
    private static func beginsLikeDER(_ bytes: some Sequence<UInt8>) -> Bool {
        let first = Array(bytes.prefix(2))
        return first.count == 2 && first[0] == 0x30 && 0x81...0x83 ~= first[1]
    }

    /// Returns a path that a file names: a relative path begins at the folder of that file.
    package static func path(_ path: String, namedIn file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }

    /// Returns a path for a message. Several lines are the contents of the file, set in the wrong place.
    package static func shown(_ path: String) -> String { path.contains(where: \.isNewline) ? "the file" : path }

    private static func fault(ofReading path: String) -> String {
        let fault = CLibrary.readingFault(ofFile: path)
        return path.hasPrefix("/") ? fault : "\(fault) (working directory: \(FileManager.default.currentDirectoryPath))"
    }
}
