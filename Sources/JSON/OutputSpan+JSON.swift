// SPDX-License-Identifier: Apache-2.0

extension OutputSpan<UInt8> {
    /// Appends bytes, for which there must be room.
    @inline(__always)
    package mutating func append(_ text: Span<UInt8>) {
        precondition(text.count <= freeCapacity)
        unsafe text.withUnsafeBufferPointer { text in
            unsafe withUnsafeMutableBufferPointer { buffer, count in
                guard let target = buffer.baseAddress, let source = text.baseAddress else { return }
                // SAFETY: the capacity was checked above, and the two do not overlap.
                unsafe (target + count).update(from: source, count: text.count)
                count &+= text.count
            }
        }
    }

    /// Appends the name of a member in quotation marks, with its colon. Both parts must need no escape.
    package mutating func append(name: StaticString, suffix: StaticString = "") {
        assert(name.bytes.needsNoEscape && suffix.bytes.needsNoEscape)
        append(UInt8(ascii: "\""))
        append(name.bytes)
        if suffix.utf8CodeUnitCount > 0 { append(suffix.bytes) }
        append(littleEndian: UInt16(0x3A22))  // ":
    }

    /// Appends the bytes of a number, the lowest first, for which there must be room.
    @inlinable
    public mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        let size = MemoryLayout<Number>.size
        precondition(size <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            // SAFETY: the capacity was checked above, and bytes have any alignment.
            unsafe UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: number.littleEndian, toByteOffset: count, as: Number.self)
            count &+= size
        }
    }

    /// Appends the bytes of a number, the highest first, for which there must be room.
    @inlinable
    public mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        append(littleEndian: number.byteSwapped)
    }

    package mutating func append(integer value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(digits: Self.digits(of: value.magnitude), of: value.magnitude)
    }

    /// Appends the decimal places of a fraction without the zeros at the end, and at least one place.
    /// - Parameter fraction: times 10 to the power of `places`.
    mutating func append(fraction: UInt64, places: Int) {
        var (fraction, places) = (fraction, places)
        while places > 1, fraction % 10 == 0 { (fraction, places) = (fraction / 10, places - 1) }
        append(digits: places, of: fraction)
    }

    /// Returns the number of decimal digits.
    private static func digits(of number: UInt64) -> Int {
        var (digits, bound) = (1, 10 as UInt64)
        // 10 to the power of 19 is the largest one of 64 bits.
        while digits < 19, number >= bound { (digits, bound) = (digits + 1, bound &* 10) }
        return digits
    }

    /// Appends the last decimal digits of a number: two at a time, the last ones first.
    private mutating func append(digits: Int, of number: UInt64) {
        precondition(digits <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            var (rest, position) = (number, count + digits)
            while position >= count + 2 {
                position -= 2
                let pair = UInt16(truncatingIfNeeded: ASCII.twoDigits(of: rest % 100))
                // SAFETY: the capacity was checked above, and bytes have any alignment.
                unsafe bytes.storeBytes(of: pair.littleEndian, toByteOffset: position, as: UInt16.self)
                rest /= 100
            }
            if position > count { unsafe buffer[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest) }
            count += digits
        }
    }
}
