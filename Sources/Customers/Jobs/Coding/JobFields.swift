// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// The stored form of a job's head, request or result: 1 byte version, then its fields in a fixed order. Names are not stored.
//
//     byte      1 byte
//     flag      1 byte: 0 false, 1 true
//     number    8 bytes two's complement
//     data      4 bytes count, then the bytes; text is data in UTF-8
//     list      4 bytes count, then the elements
//     optional  a list of one element, or of none
//
// All big-endian.

/// The reason why the stored form of a job cannot be read.
package enum JobFormatFault: Error, Hashable, Sendable {
    /// A newer version of the gateway wrote it.
    case unknownVersion(UInt8)
    case malformed
}

struct JobFieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func flag(_ value: Bool) { byte(value ? 1 : 0) }

    mutating func number(_ value: Int64) { integer(value) }

    mutating func data(_ value: [UInt8]) {
        count(value.count)
        bytes += value
    }

    mutating func text(_ value: String) { data(Array(value.utf8)) }

    mutating func list<Element>(_ elements: [Element], _ write: (inout Self, Element) -> Void) {
        count(elements.count)
        for element in elements { write(&self, element) }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout Self, Value) -> Void) {
        list(value.map { [$0] } ?? [], write)
    }

    private mutating func count(_ value: Int) { integer(UInt32(value)) }

    private mutating func integer(_ value: some FixedWidthInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            byte(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

/// Reads nothing beyond the end, and allocates nothing for announced sizes.
struct JobFieldReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Begins after the version, which must be one of these.
    init(_ bytes: [UInt8], versions: ClosedRange<UInt8>) throws(JobFormatFault) {
        self.bytes = bytes
        let found = try byte()
        guard versions.contains(found) else { throw .unknownVersion(found) }
    }

    /// Begins after the version, which must be this version.
    init(_ bytes: [UInt8], version: UInt8) throws(JobFormatFault) {
        try self.init(bytes, versions: version...version)
    }

    func end() throws(JobFormatFault) {
        guard position == bytes.count else { throw .malformed }
    }

    mutating func byte() throws(JobFormatFault) -> UInt8 { bytes[try take(1).lowerBound] }

    mutating func flag() throws(JobFormatFault) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw .malformed
        }
    }

    mutating func number() throws(JobFormatFault) -> Int64 { Int64(bitPattern: try integer(UInt64.self)) }

    mutating func data() throws(JobFormatFault) -> [UInt8] { Array(bytes[try take(try count())]) }

    mutating func text() throws(JobFormatFault) -> String {
        guard let text = String(validating: try data(), as: UTF8.self) else { throw .malformed }
        return text
    }

    /// Reads a text that is the raw value of an enumeration.
    mutating func name<Value: RawRepresentable<String>>(of type: Value.Type) throws(JobFormatFault) -> Value {
        guard let value = Value(rawValue: try text()) else { throw .malformed }
        return value
    }

    /// - Parameter read: reads one element, of at least one byte.
    mutating func list<Element>(
        _ read: (inout Self) throws(JobFormatFault) -> Element
    ) throws(JobFormatFault) -> [Element] {
        var elements: [Element] = []
        for _ in 0..<(try count()) { elements.append(try read(&self)) }
        return elements
    }

    mutating func optional<Value>(
        _ read: (inout Self) throws(JobFormatFault) -> Value
    ) throws(JobFormatFault) -> Value? {
        let values = try list(read)
        guard values.count <= 1 else { throw .malformed }
        return values.first
    }

    private mutating func count() throws(JobFormatFault) -> Int { Int(try integer(UInt32.self)) }

    private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws(JobFormatFault) -> Number {
        var number: Number = 0
        for index in try take(Number.bitWidth / 8) { number = number << 8 | Number(bytes[index]) }
        return number
    }

    private mutating func take(_ count: Int) throws(JobFormatFault) -> Range<Int> {
        guard count <= bytes.count - position else { throw .malformed }
        defer { position += count }
        return position..<position + count
    }
}
