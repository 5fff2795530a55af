// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One of the 16384 parts of a cluster's keys.
struct HashSlot: Hashable, Sendable {
    static let count = 16384

    /// 0 to 16383.
    let number: Int

    /// Creates a slot; nil for a number out of range.
    init?(_ number: some BinaryInteger) {
        guard (0..<Self.count).contains(Int(clamping: number)) else { return nil }
        self.number = Int(number)
    }

    /// The slot of a key: CRC16 of its hash tag, if it has one, else of all of it.
    init(of key: RedisWord) {
        number = Int(Self.crc16(Self.hashTag(of: key.bytes[...]))) % Self.count
    }

    /// The text between the first `{` and the next `}`, unless empty (Redis cluster specification, "Hash tags").
    private static func hashTag(of key: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key }
        let tail = key[(open + 1)...]
        guard let close = tail.firstIndex(of: UInt8(ascii: "}")), close > tail.startIndex else { return key }
        return tail[..<close]
    }

    /// CRC16-CCITT, XMODEM: polynomial 0x1021, initial value 0, nothing reflected (the specification's Appendix A).
    static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in crc << 8 ^ table[Int(UInt8(crc >> 8) ^ byte)] }
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
}
