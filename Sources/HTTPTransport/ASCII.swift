// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }

    /// `OWS`: a space or a tab (RFC 9110 §5.6.3).
    var isWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// `VCHAR`: a visible character (RFC 5234 appendix B.1).
    var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// `tchar = any VCHAR, except delimiters` (RFC 9110 §5.6.2).
    package var isTokenCharacter: Bool { isVisible && !#"(),/:;<=>?@[\]{}""#.utf8.contains(self) }

    /// `field-vchar`, space or tab: `VCHAR / obs-text / SP / HTAB` (RFC 9110 §5.5).
    var isFieldCharacter: Bool { self == 0x09 || (0x20...0x7E).contains(self) || self >= 0x80 }
}

extension Sequence<UInt8> {
    /// Compares two texts, ASCII letters without regard to case.
    func isSameText(as other: some Sequence<UInt8>) -> Bool {
        elementsEqual(other) { $0.lowercased == $1.lowercased }
    }
}
