// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A word for a POSIX shell, quoted only if it must be (POSIX.1-2017, Shell Command Language §2.2.2).
struct ShellWord: CustomStringConvertible {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String {
        if !text.isEmpty, text.utf8.allSatisfy(Self.isPlain) { return text }
        // Only the quote itself is special between single quotes; it is written outside them, with a backslash.
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
