// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Base64 with the standard alphabet and padding (RFC 4648 §4), as `receipt-data` carries it.
enum Base64Encoder {
    static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// Splits a text into lines of `width` characters.
    static func lines(_ text: String, width: Int, separator: String = "\n") -> String {
        let characters = Array(text.utf8)
        return stride(from: 0, to: characters.count, by: width)
            .map { String(decoding: characters[$0..<min($0 + width, characters.count)], as: UTF8.self) }
            .joined(separator: separator)
    }
}

extension StringProtocol {
    /// The text with the lowest unused bit set. Base64 of one byte more than a multiple of three ends in one of these four
    /// characters.
    var withUnusedBit: String {
        let next: [Character: Character] = ["A": "B", "Q": "R", "g": "h", "w": "x"]
        return String(dropLast()) + String(suffix(1).map { next[$0] ?? $0 })
    }
}

/// A name and its text, which a fault may change.
package struct NamedText: Sendable, Hashable {
    package var name: String
    package var value: String

    init(_ name: String, _ value: String) {
        (self.name, self.value) = (name, value)
    }
}

/// The textual form of certificates and keys (RFC 7468).
enum PEMEncoder {
    static func text(_ bytes: [UInt8], label: String) -> String {
        let lines = Base64Encoder.lines(Base64Encoder.text(bytes), width: 64)
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }
}
