// SPDX-License-Identifier: Apache-2.0

internal import CIntrinsics

/// A fault of base64 text (RFC 4648 §4) and its position. Holds no character of the text.
public struct Base64Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of faults; the raw value is the fault's name in answers.
    public enum Fault: String, CaseIterable, Hashable, Sendable {
        /// The text holds only white space.
        case empty = "base64_empty"
        /// A byte outside the alphabet, white space and padding.
        case invalidCharacter = "base64_invalid_character"
        /// `-` or `_`: the text is base64url (RFC 4648 §5).
        case urlAlphabet = "base64_url_alphabet"
        /// The text ends inside a group of four characters.
        case missingPadding = "base64_missing_padding"
        /// The last group has unused bits that are not zero: two texts would stand for the same bytes.
        case nonCanonicalBits = "base64_non_canonical_bits"
        /// Data follows the padding, or the padding is misplaced.
        case trailingData = "base64_trailing_data"
    }

    /// The kind of fault.
    public let fault: Fault
    /// The position in bytes from 0; the end of the text where something is missing.
    public let position: Int
    /// The fault and its remedy, as the rest of a sentence about the text.
    public var description: String {
        switch fault {
        case .empty: "contains no base64 characters"
        case .invalidCharacter: "has a character outside the base64 alphabet at position \(position)"
        case .urlAlphabet:
            "has a base64url character ('-' or '_') at position \(position); use the standard alphabet ('+' and '/')"
        case .missingPadding:
            "ends inside a group of four characters: padding or data is missing, or a '+' became a space in transit"
        case .nonCanonicalBits: "has unused bits that are not zero at position \(position)"
        case .trailingData: "has data after its padding, or misplaced padding, at position \(position)"
        }
    }
}

/// Strict base64: apart from white space, each byte sequence has exactly one text.
///
/// Foundation's decoder accepts `QUJDRB==` and OpenSSL's stops silently at a `-`; here every fault is named.
public enum Base64 {
    /// Decodes base64 text. White space (space, tab, CR, LF) is allowed anywhere.
    public static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var failure: Base64Error?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { output, count in
            // SAFETY: four characters read write three bytes, so the capacity suffices; `count` is the number written.
            do throws(Base64Error) {
                try unsafe decode(text, into: output, count: &count)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard !bytes.isEmpty else { throw Base64Error(fault: .empty, position: text.count) }
        return bytes
    }

    /// Decodes base64 text.
    public static func decode(_ text: String) throws(Base64Error) -> [UInt8] {
        try decode(Array(text.utf8).span)
    }

    /// Decodes blocks of 32 characters if the processor can, else eight characters at a time; a group with any other
    /// character goes through `Group`.
    private static func decode(
        _ text: Span<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int
    ) throws(Base64Error) {
        let values = groupValues.span, target = UnsafeMutableRawBufferPointer(output)
        var position = 0
        unsafe decodeBlocks(text, at: &position, into: output, count: &count)
        // SAFETY: twelve characters are left, so eight can be read, and there is room for nine bytes. The stores write
        // seven: six bytes of two groups, and one byte behind them. There are four values for each of the 256 bytes.
        while text.count &- position >= 12 {
            let characters = unsafe text.load64(uncheckedAt: position)
            let first = unsafe Self.group(characters, values), second = unsafe Self.group(characters >> 32, values)
            guard first | second < invalidGroup else {
                let group = try Group(text, at: &position)
                try unsafe group.write(to: output, count: &count)
                unsafe decodeBlocks(text, at: &position, into: output, count: &count)
                continue
            }
            unsafe target.storeBytes(of: first.littleEndian, toByteOffset: count, as: UInt32.self)
            unsafe target.storeBytes(of: second.littleEndian, toByteOffset: count &+ 3, as: UInt32.self)
            count &+= 6
            position &+= 8
        }
        repeat {
            let group = try Group(text, at: &position)
            try unsafe group.write(to: output, count: &count)
        } while position < text.count
    }

    private static let hasBlocks = Base64_has_avx2()

    /// Decodes blocks of 32 characters up to the first block with another character, and not the last block.
    @unsafe
    private static func decodeBlocks(
        _ text: Span<UInt8>, at position: inout Int, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int
    ) {
        guard hasBlocks else { return }
        let (start, written) = (position, count)
        let read = unsafe text.withUnsafeBufferPointer { characters in
            // SAFETY: both begin within their memory. At least three bytes of room are left for four characters, so the
            // function may write 8 bytes behind a block, because it leaves the last 12 characters alone.
            guard let from = characters.baseAddress, let to = output.baseAddress else { return 0 }
            return unsafe Base64_decode_avx2(from + start, characters.count - start, to + written)
        }
        position += read
        count += read / 4 * 3
    }

    /// Returns the three bytes of the lower four characters, the first in the lowest place.
    @unsafe @inline(__always)
    private static func group(_ characters: UInt64, _ values: Span<UInt32>) -> UInt32 {
        let lower =
            unsafe values[unchecked: Int(characters & 0xFF)]
            | values[unchecked: 256 &+ Int(characters >> 8 & 0xFF)]
        let upper =
            unsafe values[unchecked: 512 &+ Int(characters >> 16 & 0xFF)]
            | values[unchecked: 768 &+ Int(characters >> 24 & 0xFF)]
        return lower | upper
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// RFC 4648 §5.
    private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// A bit above the three bytes of a group.
    private static let invalidGroup: UInt32 = 1 << 24

    /// The bits of each byte in the three bytes of its group, for each of the four places; `invalidGroup` for a byte
    /// outside the alphabet.
    private static let groupValues: [UInt32] = {
        var groups = [UInt32](repeating: invalidGroup, count: 4 * 256)
        for (value, character) in alphabet.enumerated() {
            for place in 0..<4 {
                let bits = UInt32(value) << UInt32(18 - 6 * place)
                groups[256 * place + Int(character)] = (bits << 8).byteSwapped
            }
        }
        return groups
    }()

    fileprivate static func value(of character: UInt8) -> UInt8? {
        // In the last place it stands in the third byte alone.
        let bits = groupValues[768 + Int(character)]
        return bits < invalidGroup ? UInt8(bits >> 16) : nil
    }
}

/// The next group of up to four alphabet characters, with its white space and padding.
private struct Group {
    private var bits: UInt32 = 0
    private var characters = 0
    private var padding = 0
    private var lastPosition = 0

    /// Reads from `position` to the end of the group, or of the text if padding ends it.
    init(_ text: Span<UInt8>, at position: inout Int) throws(Base64Error) {
        while position < text.count, characters + padding < 4 {
            try take(text[position], at: position)
            position += 1
        }
        if padding > 0 { try Self.skipWhiteSpace(to: &position, of: text) }
        guard characters + padding == 4 || characters + padding == 0 else {
            throw Base64Error(fault: .missingPadding, position: position)
        }
    }

    private mutating func take(_ character: UInt8, at position: Int) throws(Base64Error) {
        if let value = Base64.value(of: character) {
            guard padding == 0 else { throw Base64Error(fault: .trailingData, position: position) }
            bits = bits << 6 | UInt32(value)
            characters += 1
            lastPosition = position
        } else if character == UInt8(ascii: "=") {
            guard characters >= 2 else { throw Base64Error(fault: .trailingData, position: position) }
            padding += 1
        } else if !character.isWhiteSpace {
            let isURL = character == UInt8(ascii: "-") || character == UInt8(ascii: "_")
            throw Base64Error(fault: isURL ? .urlAlphabet : .invalidCharacter, position: position)
        }
    }

    /// Writes the group's bytes. RFC 4648 §3.5: unused bits must be zero.
    func write(to output: UnsafeMutableBufferPointer<UInt8>, count: inout Int) throws(Base64Error) {
        guard characters > 0 else { return }
        let aligned = bits << UInt32(6 * padding)
        guard aligned & ((1 << UInt32(8 * padding)) - 1) == 0 else {
            throw Base64Error(fault: .nonCanonicalBits, position: lastPosition)
        }
        for index in 0..<3 - padding {
            unsafe output[count] = UInt8(truncatingIfNeeded: aligned >> UInt32(16 - 8 * index))
            count += 1
        }
    }

    private static func skipWhiteSpace(to position: inout Int, of text: Span<UInt8>) throws(Base64Error) {
        while position < text.count {
            guard text[position].isWhiteSpace else { throw Base64Error(fault: .trailingData, position: position) }
            position += 1
        }
    }
}

extension UInt8 {
    /// True for a space, a tab, CR and LF.
    var isWhiteSpace: Bool {
        switch self {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): true
        default: false
        }
    }
}

// MARK: - Encoding

extension Base64 {
    /// Appends the base64 encoding of the bytes (RFC 4648 §4), padded and without line breaks.
    package static func append(encoding bytes: [UInt8], to text: inout [UInt8]) {
        append(encoding: bytes.span, in: alphabet.span, isPadded: true, to: &text)
    }

    /// Appends the base64url encoding of the bytes without padding (RFC 4648 §5).
    package static func append(encodingURL bytes: [UInt8], to text: inout [UInt8]) {
        append(encoding: bytes.span, in: urlAlphabet.span, isPadded: false, to: &text)
    }

    private static func append(
        encoding bytes: Span<UInt8>, in alphabet: Span<UInt8>, isPadded: Bool, to text: inout [UInt8]
    ) {
        text.append(addingCapacity: encodedCount(of: bytes.count)) { output in
            let start = output.append(digitsOf: bytes, in: alphabet)
            let rest = bytes.count - start
            guard rest > 0 else { return }
            let group = UInt32(bytes[start]) << 16 | (rest == 2 ? UInt32(bytes[start + 1]) << 8 : 0)
            let digits = alphabet.digits(of: group)
            for digit in 0...rest { output.append(UInt8(truncatingIfNeeded: digits >> UInt32(8 * digit))) }
            if isPadded { output.append(repeating: UInt8(ascii: "="), count: 3 - rest) }
        }
    }

    /// Returns the base64 encoding of the bytes (RFC 4648 §4), padded and without line breaks.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(encoding: bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the base64url encoding of the bytes without padding (RFC 4648 §5).
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(encodingURL: bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package static func encodedCount(of byteCount: Int) -> Int { (byteCount + 2) / 3 * 4 }
}

extension OutputSpan<UInt8> {
    /// Appends four base64 digits for each three bytes, for which there must be room.
    /// - Returns: the number of bytes that were encoded.
    fileprivate mutating func append(digitsOf bytes: Span<UInt8>, in alphabet: Span<UInt8>) -> Int {
        precondition(bytes.count / 3 * 4 <= freeCapacity)
        return unsafe withUnsafeMutableBufferPointer { buffer, count in
            let text = UnsafeMutableRawBufferPointer(buffer)
            var start = 0
            while start &+ 3 <= bytes.count {
                // SAFETY: three bytes lie behind `start`, there is room for four digits, and bytes have any alignment.
                let group =
                    unsafe UInt32(bytes[unchecked: start]) << 16 | UInt32(bytes[unchecked: start &+ 1]) << 8
                    | UInt32(bytes[unchecked: start &+ 2])
                unsafe text.storeBytes(
                    of: alphabet.digits(of: group).littleEndian, toByteOffset: count, as: UInt32.self)
                start &+= 3
                count &+= 4
            }
            return start
        }
    }
}

extension Span<UInt8> {
    /// Returns the four base64 digits of a group of 24 bits, the first in the lowest byte.
    @inline(__always)
    fileprivate func digits(of group: UInt32) -> UInt32 {
        precondition(count == 64)
        func digit(_ position: UInt32) -> UInt32 {
            // SAFETY: an alphabet has 64 digits.
            unsafe UInt32(self[unchecked: Int(group >> position & 63)])
        }
        return digit(18) | digit(12) << 8 | digit(6) << 16 | digit(0) << 24
    }
}
