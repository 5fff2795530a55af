// SPDX-License-Identifier: Apache-2.0

internal import JSON

// The characters of HTTP's grammar (RFC 9110 §5.6, RFC 3986 §2).

extension UInt8 {
    /// SP and HTAB (RFC 9110 §5.6.3).
    var isWhiteSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var lowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    /// `tchar` (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool { CharacterSet128.token.contains(self) }

    /// True for a character of a request target (RFC 3986 §3.3, §3.4, §3.2) that is not percent-encoded. A fragment is
    /// not sent.
    var isTargetCharacter: Bool { CharacterSet128.target.contains(self) }

    /// True for a character of `reg-name` (RFC 3986 §3.2.2) that is not percent-encoded. The comma is left out, because
    /// a list of hosts is no host.
    var isHostNameCharacter: Bool { CharacterSet128.hostName.contains(self) }

    /// `VCHAR`, `obs-text`, SP and HTAB (RFC 9110 §5.5).
    var isPartOfFieldValue: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }
}

/// A set of ASCII characters, one bit for each. Written as numbers, so that a program needs no lock to read them.
struct CharacterSet128: Sendable {
    private let low: UInt64
    private let high: UInt64

    private init(_ low: UInt64, _ high: UInt64) {
        (self.low, self.high) = (low, high)
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
    }

    /// Letters, digits and ``!#$%&'*+-.^_`|~``.
    static var token: CharacterSet128 { CharacterSet128(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }
    /// Letters, digits and `-._~:/?@!$&'()*+,;=[]`.
    static var target: CharacterSet128 { CharacterSet128(0xAFFF_FFD2_0000_0000, 0x47FF_FFFE_AFFF_FFFF) }
    /// Letters, digits and `-._~!$&'()*+;=`.
    static var hostName: CharacterSet128 { CharacterSet128(0x2BFF_6FD2_0000_0000, 0x47FF_FFFE_87FF_FFFE) }
}

extension Span<UInt8> {
    func tokenEnd(from start: Int) -> Int {
        var index = start
        while index < count, self[index].isTokenCharacter { index += 1 }
        return index
    }

    /// Returns the index of the space after the request target that begins at `start`; nil if the target has an invalid
    /// character, or no space follows.
    func targetEnd(from start: Int) -> Int? {
        var index = start
        while index < count, self[index] != UInt8(ascii: " ") {
            guard let next = characterEnd(from: index, where: \.isTargetCharacter) else { return nil }
            index = next
        }
        return index < count ? index : nil
    }

    /// Returns the index after a plain or percent-encoded character (RFC 3986 §2.1); nil without such a character.
    func characterEnd(from index: Int, where isAllowed: (UInt8) -> Bool) -> Int? {
        if isAllowed(self[index]) { return index + 1 }
        guard self[index] == UInt8(ascii: "%"), index + 2 < count, ASCII.hexadecimalValue(of: self[index + 1]) != nil,
            ASCII.hexadecimalValue(of: self[index + 2]) != nil
        else { return nil }
        return index + 3
    }

    /// - Parameter text: in lower case.
    @inline(__always)
    func equalsIgnoringCase(_ text: String) -> Bool {
        count == text.utf8.count && hasSameLetters(as: text)
    }

    private func hasSameLetters(as text: String) -> Bool {
        let expected = text.utf8.span
        for index in expected.indices where self[index].lowercased != expected[index] { return false }
        return true
    }

    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isWhiteSpace { start += 1 }
        while start < end, self[end - 1].isWhiteSpace { end -= 1 }
        return start..<end
    }
}
