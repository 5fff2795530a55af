// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A word as a POSIX shell reads it, quoted only where it must be (POSIX.1-2017, Shell Command Language §2.2.2).
struct ShellWord: CustomStringConvertible {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String {
        if !text.isEmpty, text.utf8.allSatisfy(Self.isPlain) { return text }
        // Nothing is special between single quotes but the quote itself, which is taken out and put in with a backslash.
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: #"'\''"#) + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "/._-+@%".utf8.contains(byte)
        }
    }
}
