// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// A SHA-256 digest that identifies a certificate, a receipt's bytes or its signed content.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The 32 bytes as four big-endian words, which compare and hash faster than an array.
    let words: InlineWords

    struct InlineWords: Hashable, Sendable {
        var first: UInt64, second: UInt64, third: UInt64, fourth: UInt64
    }

    /// Hashes the bytes.
    public init(of bytes: Span<UInt8>) {
        words = Self.contexts.lend(orMake: DigestContext(.sha256)) { context in
            context.withDigest(of: bytes) { InlineWords($0) }
        }
    }

    /// Takes over the 32 bytes of a digest.
    init(digest: Span<UInt8>) {
        words = InlineWords(digest)
    }

    /// Reads 64 hexadecimal digits of either case.
    public init?(hexadecimal text: String) {
        guard let digest = ASCII.bytes(hexadecimal: Array(text.utf8)), digest.count == 32 else { return nil }
        words = InlineWords(digest.span)
    }

    /// The fingerprint as an evenly distributed number in 0..<1, for a stable choice of a share.
    public var fraction: Double { Double(words.first >> 11) / Double(1 << 53) }

    /// 64 lower-case hexadecimal digits.
    public var description: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)
        for word in [words.first, words.second, words.third, words.fourth] {
            ASCII.append(hexadecimal: word, to: &digits)
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static let contexts = Pool<DigestContext>()
}

extension Fingerprint.InlineWords {
    fileprivate init(_ digest: Span<UInt8>) {
        func word(at offset: Int) -> UInt64 {
            (offset..<offset + 8).reduce(0) { $0 << 8 | UInt64(digest[$1]) }
        }
        self.init(first: word(at: 0), second: word(at: 8), third: word(at: 16), fourth: word(at: 24))
    }
}
