// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    var decimalValue: Int? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) ? Int(self - UInt8(ascii: "0")) : nil
    }

    var hexadecimalValue: Int? { Character(UnicodeScalar(self)).hexDigitValue }

    var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// RFC 9110 §5.6.2: visible, and no delimiter.
    var isTokenCharacter: Bool {
        switch self {
        case 0...0x20, 0x7F...: false
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: "/"), UInt8(ascii: ":"),
            UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "?"),
            UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "\\"), UInt8(ascii: "]"), UInt8(ascii: "{"),
            UInt8(ascii: "}"), UInt8(ascii: "\""):
            false
        default: true
        }
    }

    var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension Span<UInt8> {
    func index(of byte: UInt8, from start: Int) -> Int? {
        var index = start
        while index < count {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// Returns true if the bytes begin with a text in small letters, whatever their own case.
    func starts(with text: StaticString) -> Bool { hasText(text, at: 0) }

    /// Returns the byte behind the first occurrence of a text, if that begins within so many bytes.
    func letter(after text: StaticString, within: Int = .max) -> UInt8? {
        for start in 0..<Swift.min(count, within) where hasText(text, at: start) {
            let end = start + text.utf8CodeUnitCount
            return end < count ? self[end] : nil
        }
        return nil
    }

    func containsText(_ text: StaticString) -> Bool {
        for start in 0..<count where hasText(text, at: start) { return true }
        return false
    }

    /// Returns true if a text stands in a list of words (RFC 9110 §5.6.1), whatever its case.
    func containsWord(_ text: StaticString) -> Bool {
        for start in 0..<count where hasText(text, at: start) {
            let end = start + text.utf8CodeUnitCount
            let isStart = start == 0 || !self[start - 1].isTokenCharacter
            if isStart, end == count || !self[end].isTokenCharacter { return true }
        }
        return false
    }

    var trimmed: Span<UInt8> {
        @_lifetime(copy self)
        get {
            var start = 0, end = count
            while start < end, self[start].isBlank { start += 1 }
            while end > start, self[end - 1].isBlank { end -= 1 }
            return extracting(start..<end)
        }
    }

    private func hasText(_ text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { text in
            let word = unsafe text.span
            guard count - start >= word.count else { return false }
            for index in 0..<word.count {
                let byte = self[start + index]
                if byte != word[index], byte.lowercased != word[index] { return false }
            }
            return true
        }
    }
}
