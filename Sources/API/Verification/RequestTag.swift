// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography

/// A keyed universal hash of a request's body: NH with words of 64 bits, under two keys that are shifted against each
/// other (Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: Fast and Secure Message Authentication", 1999, §4.2 and
/// §4.3; RFC 4418 §5.2.2).
///
/// Two different bodies have the same tag under one key of 2^128, however they are chosen. The key is random for each
/// process, and neither it nor a tag leaves the process. So a body need not be kept to recognise it.
struct RequestTag: Hashable, Sendable {
    enum Limits {
        /// The maximum bytes of a body. The key is longer by two words.
        static let bodyBytes = NearCache.Limits.bodyBytes
    }

    private var first: UInt128 = 0
    private var second: UInt128 = 0
    // The theorem is about bodies of one length.
    private let byteCount: Int

    /// Returns nil for a body beyond the limit.
    init?(of body: Span<UInt8>) {
        guard body.count <= Limits.bodyBytes else { return nil }
        byteCount = body.count
        let key = Self.key.span, bytes = unsafe body.bytes
        var offset = 0
        while offset &+ 16 <= bytes.byteCount {
            // SAFETY: sixteen bytes lie behind `offset`, and any eight of them are a number.
            let words = unsafe (
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self),
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset &+ 8, as: UInt64.self)
            )
            add(words, key, at: offset &>> 3)
            offset &+= 16
        }
        if offset < body.count { add(Self.words(of: body.extracting(offset...)), key, at: offset >> 3) }
    }

    /// Adds the products of two words under both keys.
    @inline(__always)
    private mutating func add(_ words: (UInt64, UInt64), _ key: Span<UInt64>, at index: Int) {
        // SAFETY: the key has a word for each word of the longest body, padded to pairs, and two more.
        let pairs = unsafe (
            (key[unchecked: index], key[unchecked: index &+ 1]),
            (key[unchecked: index &+ 2], key[unchecked: index &+ 3])
        )
        first &+= UInt128(words.0 &+ pairs.0.0) &* UInt128(words.1 &+ pairs.0.1)
        second &+= UInt128(words.0 &+ pairs.1.0) &* UInt128(words.1 &+ pairs.1.1)
    }

    /// Returns fewer than sixteen bytes, with zeros behind them.
    private static func words(of rest: Span<UInt8>) -> (UInt64, UInt64) {
        var words: (UInt64, UInt64) = (0, 0)
        for index in rest.indices {
            let byte = UInt64(rest[index]) << UInt64(8 * (index % 8))
            if index < 8 { words.0 |= byte } else { words.1 |= byte }
        }
        return words
    }

    private static let key: [UInt64] = {
        let bytes = SecureRandom.bytes(Limits.bodyBytes + 2 * MemoryLayout<UInt64>.size)
        return stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }()

    /// The number that decides the part of the near cache. The hash uses other words.
    ///
    /// Bodies that differ in one word differ little in the high half of the sum, and well in the upper bits of the low half.
    var part: Int { Int(truncatingIfNeeded: UInt64(truncatingIfNeeded: second ^ second >> 64) >> 32) }

    /// Both halves: bodies can be chosen that differ in a few bits of one half only.
    func hash(into hasher: inout Hasher) { hasher.combine(first) }
}
