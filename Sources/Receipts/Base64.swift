// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a text is not base64 (RFC 4648 §4). Positions count bytes from 0.
public enum Base64Error: Error, Hashable, Sendable {
    /// Nothing but white space.
    case empty
    /// A byte that is neither of the alphabet, nor white space, nor padding.
    case invalidCharacter(position: Int)
    /// `-` or `_`: the text is base64url (RFC 4648 §5).
    case urlAlphabet(position: Int)
    /// The text ends inside a group of four.
    case missingPadding
    /// The last group has bits that stand for nothing and are not zero: two texts would mean the same bytes.
    case nonCanonicalBits(position: Int)
    /// Something follows the padding, or the padding stands where none may.
    case trailingData(position: Int)

    /// The fault's name in answers.
    public var name: String {
        switch self {
        case .empty: "base64_empty"
        case .invalidCharacter: "base64_invalid_character"
        case .urlAlphabet: "base64_url_alphabet"
        case .missingPadding: "base64_missing_padding"
        case .nonCanonicalBits: "base64_non_canonical_bits"
        case .trailingData: "base64_trailing_data"
        }
    }
}

extension Base64Error: CustomStringConvertible {
    /// One sentence that says what to mend.
    public var description: String {
        switch self {
        case .empty: "holds no base64 characters"
        case .invalidCharacter(let position): "has a character outside the base64 alphabet at position \(position)"
        case .urlAlphabet(let position):
            "has a base64url character ('-' or '_') at position \(position); use the standard alphabet ('+' and '/')"
        case .missingPadding:
            "ends inside a group of four characters: padding or data is missing, or a '+' became a space on the way"
        case .nonCanonicalBits(let position): "has unused bits that are not zero at position \(position)"
        case .trailingData(let position): "goes on after its padding at position \(position)"
        }
    }
}

/// Strict base64: one text for each sequence of bytes, white space aside.
///
/// Foundation's decoder takes `QUJDRB==` and OpenSSL's ends silently at a `-`; here every fault is named.
public enum Base64 {
    /// The bytes a base64 text stands for. White space (space, tab, CR, LF) may stand anywhere.
    public static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var failure: Base64Error?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { output, count in
            // SAFETY: three bytes are written for each four characters read, so the capacity suffices, and `count` is
            // what was written.
            do throws(Base64Error) {
                try unsafe decode(text, into: output, count: &count)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard !bytes.isEmpty else { throw .empty }
        return bytes
    }

    /// The bytes a base64 text stands for.
    public static func decode(_ text: String) throws(Base64Error) -> [UInt8] {
        try decode(Array(text.utf8).span)
    }

    /// Four characters at a time; a group with anything but alphabet characters in it goes through `Group`.
    private static func decode(
        _ text: Span<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int
    ) throws(Base64Error) {
        let values = values.span
        var position = 0
        while text.count - position >= 4 {
            let bits =
                values[Int(text[position])] << 18 | values[Int(text[position + 1])] << 12
                | values[Int(text[position + 2])] << 6 | values[Int(text[position + 3])]
            guard bits < invalid else {
                let group = try Group(text, at: &position)
                try unsafe group.write(to: output, count: &count)
                continue
            }
            unsafe output[count] = UInt8(truncatingIfNeeded: bits >> 16)
            unsafe output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            unsafe output[count + 2] = UInt8(truncatingIfNeeded: bits)
            count += 3
            position += 4
        }
        let rest = try Group(text, at: &position)
        try unsafe rest.write(to: output, count: &count)
    }

    /// Marks what is not in the alphabet: too large for four characters of it, wherever in a group it stands.
    private static let invalid: UInt32 = 1 << 24

    /// The value of each alphabet character; `invalid`, in all four places of a group, for everything else.
    private static let values: [UInt32] = {
        var values = [UInt32](repeating: invalid, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt32(value) }
        return values
    }()

    fileprivate static func value(of character: UInt8) -> UInt32? {
        let value = values[Int(character)]
        return value < invalid ? value : nil
    }
}

/// The next group of up to four alphabet characters, with the white space and the padding around it.
private struct Group {
    private var bits: UInt32 = 0
    private var characters = 0
    private var padding = 0
    private var lastPosition = 0

    /// Reads from `position` up to the end of the group, or of the text if padding ends it.
    init(_ text: Span<UInt8>, at position: inout Int) throws(Base64Error) {
        while position < text.count, characters + padding < 4 {
            try take(text[position], at: position)
            position += 1
        }
        if padding > 0 { try Self.skipWhiteSpace(to: &position, of: text) }
        guard characters + padding == 4 || characters + padding == 0 else { throw .missingPadding }
    }

    private mutating func take(_ character: UInt8, at position: Int) throws(Base64Error) {
        if let value = Base64.value(of: character) {
            guard padding == 0 else { throw .trailingData(position: position) }
            bits = bits << 6 | value
            characters += 1
            lastPosition = position
        } else if character == UInt8(ascii: "=") {
            guard characters >= 2 else { throw .trailingData(position: position) }
            padding += 1
        } else if !Self.isWhiteSpace(character) {
            let isURL = character == UInt8(ascii: "-") || character == UInt8(ascii: "_")
            throw isURL ? .urlAlphabet(position: position) : .invalidCharacter(position: position)
        }
    }

    /// RFC 4648 §3.5: bits that no byte takes must be zero.
    func write(to output: UnsafeMutableBufferPointer<UInt8>, count: inout Int) throws(Base64Error) {
        guard characters > 0 else { return }
        let aligned = bits << UInt32(6 * padding)
        guard aligned & ((1 << UInt32(8 * padding)) - 1) == 0 else { throw .nonCanonicalBits(position: lastPosition) }
        for index in 0..<3 - padding {
            unsafe output[count] = UInt8(truncatingIfNeeded: aligned >> UInt32(16 - 8 * index))
            count += 1
        }
    }

    private static func skipWhiteSpace(to position: inout Int, of text: Span<UInt8>) throws(Base64Error) {
        while position < text.count {
            guard isWhiteSpace(text[position]) else { throw .trailingData(position: position) }
            position += 1
        }
    }

    private static func isWhiteSpace(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): true
        default: false
        }
    }
}
