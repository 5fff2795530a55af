// SPDX-License-Identifier: Apache-2.0

extension Timestamp {
    /// Reads an RFC 3339 date in UTC, `YYYY-MM-DDThh:mm:ssZ`; nil if it is none.
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20 else { return nil }
        self.init(plainRFC3339: bytes.span, at: 0)
    }

    /// Reads the 20 bytes `YYYY-MM-DDThh:mm:ssZ` (RFC 3339 §5.6, the form Apple writes); nil if they are no date.
    ///
    /// Eight bytes at a time: XOR with the form leaves the value of each digit and zero for each separator.
    @inline(__always)
    init?(plainRFC3339 bytes: Span<UInt8>, at start: Int) {
        guard let end = bytes.count >= start + 20 ? bytes.load32(at: start + 16) : nil else { return nil }
        let clock = end ^ 0x5A30_303A  // ":00Z"
        guard clock & 0xFF00_00FF == 0, clock.isAllDigits else { return nil }
        guard let time = CivilTime(dateAndMinute: bytes, at: start, second: Int(clock.pair(at: 1))) else { return nil }
        self.init(millisecondsSince1970: time.secondsSince1970 * 1000)
    }

    /// Reads Xcode's `YYYY-MM-DDThh:mm:ss±hhmm`; nil if the bytes are no such date.
    @inline(never)
    init?(xcode bytes: Span<UInt8>, in range: Range<Int>) {
        let signPosition = range.lowerBound + 19
        guard range.count == 24, bytes[signPosition - 3] == UInt8(ascii: ":"),
            let second = bytes.decimal(at: signPosition - 2, digits: 2),
            let time = CivilTime(dateAndMinute: bytes, at: range.lowerBound, second: second),
            let hours = bytes.decimal(at: signPosition + 1, digits: 2), hours < 24,
            let minutes = bytes.decimal(at: signPosition + 3, digits: 2), minutes < 60
        else { return nil }
        let offset = Int64(hours * 3600 + minutes * 60)
        switch bytes[signPosition] {
        case UInt8(ascii: "+"): self.init(millisecondsSince1970: (time.secondsSince1970 - offset) * 1000)
        case UInt8(ascii: "-"): self.init(millisecondsSince1970: (time.secondsSince1970 + offset) * 1000)
        default: return nil
        }
    }
}

extension CivilTime {
    /// Reads `YYYY-MM-DDThh:mm`; nil if the calendar has no such time.
    @inline(__always)
    fileprivate init?(dateAndMinute bytes: Span<UInt8>, at start: Int, second: Int) {
        let date = bytes.load64(at: start) ^ 0x2D30_302D_3030_3030  // "0000-00-"
        let time = bytes.load64(at: start + 8) ^ 0x3030_3A30_3054_3030  // "00T00:00"
        guard date & 0xFF00_00FF_0000_0000 == 0, time & 0x0000_FF00_00FF_0000 == 0,
            date.isAllDigits, time.isAllDigits
        else { return nil }
        self.init(
            year: Int(date.pair(at: 0) * 100 + date.pair(at: 2)), month: Int(date.pair(at: 5)),
            day: Int(time.pair(at: 0)), hour: Int(time.pair(at: 3)), minute: Int(time.pair(at: 6)), second: second)
        guard exists else { return nil }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// True if every byte is at most 9.
    @inline(__always)
    fileprivate var isAllDigits: Bool {
        let highBits = Self.max / 0xFF * 0x80, slack = Self.max / 0xFF * 0x76
        return (self | (self &+ slack)) & highBits == 0
    }

    /// Returns the number whose tens and ones are the bytes at `index` and after it.
    @inline(__always)
    fileprivate func pair(at index: Int) -> Self {
        let tens = (self >> Self(8 * index)) & 0xFF, ones = (self >> Self(8 * index + 8)) & 0xFF
        return tens * 10 + ones
    }
}
