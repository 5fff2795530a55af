// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A size in bytes, written `12MiB`, `8KiB`, `1GiB` or as a plain number.
package struct ByteCount: Hashable, Comparable, Sendable {
    package var bytes: Int

    /// Creates a size in bytes.
    package static func bytes(_ count: Int) -> ByteCount { ByteCount(bytes: count) }
    /// Creates a size in units of 1024 bytes.
    package static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }
    /// Creates a size in units of 1024² bytes.
    package static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }

    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}

extension ByteCount: ConfigurationValue {
    package static var accepted: String { "a size such as 512KiB, 12MiB or 1GiB, or a number of bytes" }

    /// The units with their powers of two, largest first.
    private static let units = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)]

    package init(configuration text: String) throws(ConfigurationValueFault) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let count = Int(digits), let shift = Self.units.first(where: { $0.0 == unit })?.1,
            count <= Int.max >> shift
        else { throw ConfigurationValueFault(description: "\"\(text)\" is not a size") }
        self.init(bytes: count << shift)
    }

    package var configurationText: String {
        let unit = Self.units.first { bytes.isMultiple(of: 1 << $0.1) && bytes > 0 && $0.1 > 0 }
        return unit.map { "\(bytes >> $0.1)\($0.0)" } ?? String(bytes)
    }
}
