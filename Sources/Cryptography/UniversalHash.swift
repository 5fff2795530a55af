// SPDX-License-Identifier: Apache-2.0

internal import CIntrinsics

/// A keyed universal hash: two different texts of one length have the same tag under one key of 2^128, however they are
/// chosen. This holds as long as the author of the texts knows neither the key nor a tag.
///
/// A tag has two sums of products of neighbouring words, under two keys that are shifted against each other. Words
/// are polynomials over GF(2) if the processor multiplies them (Lemire and Kaser, "Faster 64-bit universal hashing using
/// carry-less multiplications", 2016, §5), else integers (Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: Fast and
/// Secure Message Authentication", 1999, §4.2). Both have the same bound, for each sum 2^64, and with the
/// shift both sums together (§4.3).
package struct UniversalHash: Sendable {
    package struct Tag: Hashable, Sendable {
        fileprivate var first: UInt128 = 0
        fileprivate var second: UInt128 = 0
        // The theorem is about texts of one length.
        fileprivate let byteCount: Int

        /// A number to choose one of several tables by; the hash uses other words.
        ///
        /// Texts that differ in one word may differ in one half of a sum only, and in its lower or upper bits only.
        package var part: Int { Int(truncatingIfNeeded: UInt64(truncatingIfNeeded: second ^ second >> 64) >> 32) }

        /// Both halves: texts can be chosen that differ in a few bits of one half only.
        package func hash(into hasher: inout Hasher) { hasher.combine(first) }
    }

    private static let blockBytes = 32
    private let maximumBytes: Int
    /// A word for each word of the longest text, padded to blocks, and two more.
    private let key: [UInt64]
    private let isCarryless: Bool

    /// Draws a random key, as long as the longest text.
    package init(maximumBytes: Int) {
        self.init(maximumBytes: maximumBytes, isCarryless: Self.hasCarrylessProducts)
    }

    static let hasCarrylessProducts = CarrylessHash_is_available()

    /// - Parameter isCarryless: true for polynomials, only on a processor that multiplies them.
    init(maximumBytes: Int, isCarryless: Bool) {
        (self.maximumBytes, self.isCarryless) = (maximumBytes, isCarryless)
        let blocks = maximumBytes / Self.blockBytes + 1
        let bytes = SecureRandom.bytes(blocks * Self.blockBytes + 2 * MemoryLayout<UInt64>.size)
        key = stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// Returns nil for a text beyond the limit.
    package func tag(of text: Span<UInt8>) -> Tag? {
        guard text.count <= maximumBytes else { return nil }
        var tag = Tag(byteCount: text.count)
        let end = text.count & ~(Self.blockBytes - 1)
        add(text.extracting(..<end), at: 0, to: &tag)
        guard end < text.count else { return tag }
        var last = InlineArray<32, UInt8>(repeating: 0)
        for index in end..<text.count { last[index - end] = text[index] }
        add(last.span, at: end, to: &tag)
        return tag
    }

    private func add(_ blocks: Span<UInt8>, at offset: Int, to tag: inout Tag) {
        let key = key.span.extracting((offset / 8)...)
        let sums = isCarryless ? Self.carrylessSums(of: blocks, key) : Self.integerSums(of: blocks, key)
        tag.first = isCarryless ? tag.first ^ sums[0] : tag.first &+ sums[0]
        tag.second = isCarryless ? tag.second ^ sums[1] : tag.second &+ sums[1]
    }

    /// - Parameter key: two words more than the blocks have.
    static func carrylessSums(of blocks: Span<UInt8>, _ key: Span<UInt64>) -> InlineArray<2, UInt128> {
        precondition(key.count >= blocks.count / 8 + 2)
        let words = unsafe blocks.withUnsafeBufferPointer { blocks in
            unsafe key.withUnsafeBufferPointer { key in
                // SAFETY: only whole blocks are read, and the key is long enough.
                unsafe CarrylessHash_add(blocks.baseAddress, blocks.count / Self.blockBytes, key.baseAddress).words
            }
        }
        return [UInt128(words.1) << 64 | UInt128(words.0), UInt128(words.3) << 64 | UInt128(words.2)]
    }

    /// - Parameter key: two words more than the blocks have.
    static func integerSums(of blocks: Span<UInt8>, _ key: Span<UInt64>) -> InlineArray<2, UInt128> {
        var (first, second) = (UInt128(0), UInt128(0))
        let bytes = unsafe blocks.bytes
        var index = 0
        while index < blocks.count / 8 {
            // SAFETY: the blocks have an even number of words, and any eight bytes are a number.
            let (one, other) = unsafe (
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index * 8, as: UInt64.self),
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index * 8 + 8, as: UInt64.self)
            )
            first &+= UInt128(one &+ key[index]) &* UInt128(other &+ key[index + 1])
            second &+= UInt128(one &+ key[index + 2]) &* UInt128(other &+ key[index + 3])
            index += 2
        }
        return [first, second]
    }
}
