// SPDX-License-Identifier: Apache-2.0

internal import JSON

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension Span<UInt8> {
    /// Returns true if both hold the same bytes. Not constant-time: no secret is compared with it.
    @inline(__always)
    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                // SAFETY: both buffers hold `count` bytes.
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }

    package func begins(with text: String) -> Bool {
        let expected = text.utf8.span
        return count >= expected.count && extracting(0..<expected.count).equals(expected)
    }

    /// Returns the index of the first such byte at or after `start`; nil if there is none.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count else { return nil }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            // SAFETY: the buffer holds `count` bytes, and the first `start` bytes are skipped.
            return unsafe memchr(base + start, Int32(byte), count - start).map { unsafe UnsafeRawPointer($0) - base }
        }
    }

    @inline(__always)
    package func equals(_ other: [UInt8]) -> Bool {
        equals(other.span)
    }

    @inline(__always)
    func equals(_ range: Range<Int>, _ other: [UInt8]) -> Bool {
        extracting(range).equals(other.span)
    }

    /// Returns true for exactly the bytes of this text.
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
        equals(text.bytes)
    }

    package func equals(_ range: Range<Int>, _ other: Range<Int>) -> Bool {
        extracting(range).equals(extracting(other))
    }

    package func copy(_ range: Range<Int>) -> [UInt8] {
        let part = extracting(range)
        return unsafe part.withUnsafeBytes { bytes in unsafe Array(bytes) }
    }
}

// Little-endian loads.
extension Span<UInt8> {
    /// Loads eight bytes. Traps outside the span.
    @inline(__always)
    func load64(at offset: Int) -> UInt64 {
        // SAFETY: the load checks its bounds, and every bit pattern is a number.
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Loads four bytes. Traps outside the span.
    @inline(__always)
    func load32(at offset: Int) -> UInt32 {
        // SAFETY: the load checks its bounds, and every bit pattern is a number.
        unsafe UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Loads eight bytes; the caller guarantees that they are within the span.
    @unsafe @inline(__always)
    func load64(uncheckedAt offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// Loads four bytes; the caller guarantees that they are within the span.
    @unsafe @inline(__always)
    func load32(uncheckedAt offset: Int) -> UInt32 {
        unsafe UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }
}
