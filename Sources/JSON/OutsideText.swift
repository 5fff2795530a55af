// SPDX-License-Identifier: Apache-2.0

/// A text from outside, compared and hashed by its bytes.
///
/// Swift compares, hashes and splits a `String` by Unicode's canonical equivalence, which takes time with the square of a
/// run of combining marks: half a second for 64 KB. So a text from outside becomes a `String` only if it is ASCII or short.
package struct OutsideText: Sendable {
    package enum Limits {
        /// The longest text with other characters than ASCII that becomes a `String`, in bytes of UTF-8.
        package static let unicodeBytes = 256
    }

    fileprivate let unchecked: String

    package init(_ unchecked: String) { self.unchecked = unchecked }

    /// The text; nil if it has other characters than ASCII and is longer than `Limits.unicodeBytes`.
    package var string: String? {
        utf8.count <= Limits.unicodeBytes || isASCII ? unchecked : nil
    }

    /// Known since the text was made, for nearly every text.
    private var isASCII: Bool {
        var characters = unchecked.utf8Span
        return characters.checkForASCII()
    }

    /// The bytes, of any length.
    package var utf8: String.UTF8View { unchecked.utf8 }

    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { unchecked.utf8Span.span }
    }
}

extension OutsideText: Hashable {
    package static func == (one: OutsideText, other: OutsideText) -> Bool {
        one.bytes.isEqual(to: other.bytes)
    }

    package func hash(into hasher: inout Hasher) {
        // SAFETY: the pointer does not leave the closure. Byte by byte, hashing takes eight times as long.
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(utf8.count)
    }
}

extension Span<UInt8> {
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    func isEqual(to first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard count == first.count + second.count else { return false }
        return extracting(..<first.count).isEqual(to: first) && extracting(first.count...).isEqual(to: second)
    }
}

extension OutsideText: CustomStringConvertible {
    /// The text, or its length.
    package var description: String { string ?? "a text of \(utf8.count) bytes" }
}

extension OutsideText: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self.init(value) }
}

extension String {
    /// Copies UTF-8 from outside.
    /// - Returns: nil for invalid UTF-8, and for a text that `OutsideText` does not hand out.
    package init?(outside bytes: some Collection<UInt8>) {
        guard let text = String(validating: bytes, as: UTF8.self), let checked = OutsideText(text).string else {
            return nil
        }
        self = checked
    }
}

extension JSONWriter {
    mutating func string(_ text: OutsideText) { string(text.unchecked) }

    mutating func key(named name: OutsideText) { key(named: name.unchecked) }
}
