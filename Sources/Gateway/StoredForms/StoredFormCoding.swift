// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Receipts

package struct StoredFormWriter: StoredFormVisitor {
    private(set) var bytes: [UInt8] = []
    private let widest: SignedExtent

    /// - Parameter widest: the most that is written of the fields that only signed items have.
    init(upTo widest: SignedExtent) { self.widest = widest }

    package mutating func byte(_ value: inout UInt8) { bytes.append(value) }

    package mutating func number(_ value: inout Int64) { write(value) }

    package mutating func data(_ value: inout [UInt8]) {
        write(UInt32(value.count))
        bytes += value
    }

    package mutating func rest(_ value: inout [UInt8]) { bytes += value }

    package mutating func version(_ written: UInt8, accepted: ClosedRange<UInt8>) { bytes.append(written) }

    package mutating func count(_ value: inout UInt32) { write(value) }

    package mutating func text(_ name: StaticString, _ value: inout String?) {
        write(UInt32(value.map { $0.utf8.count + 1 } ?? 0))
        if let value { bytes += value.utf8 }
    }

    package mutating func count(_ name: StaticString, _ value: inout Int64?) { write(value) }

    package mutating func flag(_ name: StaticString, _ value: inout Bool?) {
        bytes.append(value.map { $0 ? 2 : 1 } ?? 0)
    }

    package mutating func date(_ name: StaticString, _ value: inout Timestamp?) {
        write(value?.millisecondsSince1970)
    }

    package mutating func texts(_ name: StaticString, _ value: inout [String]?) {
        write(UInt32(value.map { $0.count + 1 } ?? 0))
        for text in value ?? [] {
            var text: String? = text
            self.text(name, &text)
        }
    }

    package mutating func object(_ name: StaticString, _ value: inout [UInt8]?) {
        var object = value ?? []
        data(&object)
    }

    package mutating func visitedFields(_ extent: SignedExtent) -> SignedExtent {
        let written = extent == .withCommerce ? widest : extent
        bytes.append(written.rawValue)
        return written
    }

    package func invalid(_ name: StaticString) {}

    private mutating func write(_ number: Int64?) {
        bytes.append(number == nil ? 0 : 1)
        if let number { write(number) }
    }

    private mutating func write(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

/// Reads a stored form. Decryption proves the writer, not the content: nothing is read beyond the end, and nothing is
/// allocated for announced sizes.
package struct StoredFormReader: StoredFormVisitor {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    package mutating func byte(_ value: inout UInt8) throws(StoredFormFault) { value = bytes[try take(1).lowerBound] }

    package mutating func number(_ value: inout Int64) throws(StoredFormFault) {
        value = Int64(bitPattern: try integer(UInt64.self))
    }

    package mutating func data(_ value: inout [UInt8]) throws(StoredFormFault) {
        let count = Int(try integer(UInt32.self))
        value = Array(bytes[try take(count)])
    }

    package mutating func rest(_ value: inout [UInt8]) throws(StoredFormFault) {
        value = Array(bytes[try take(bytes.count - position)])
    }

    package mutating func version(_ written: UInt8, accepted: ClosedRange<UInt8>) throws(StoredFormFault) {
        var found: UInt8 = 0
        try byte(&found)
        guard accepted.contains(found) else { throw .unknownVersion(found) }
    }

    package mutating func count(_ value: inout UInt32) throws(StoredFormFault) { value = try integer(UInt32.self) }

    package mutating func text(_ name: StaticString, _ value: inout String?) throws(StoredFormFault) {
        let length = Int(try integer(UInt32.self)) - 1
        guard length >= 0 else { value = nil; return }
        let range = try take(length)
        guard let characters = try? UTF8Span(validating: bytes.span.extracting(range)) else { throw .malformed }
        value = String(copying: characters)
    }

    package mutating func count(_ name: StaticString, _ value: inout Int64?) throws(StoredFormFault) {
        value = try optionalNumber()
    }

    package mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(StoredFormFault) {
        switch try integer(UInt8.self) {
        case 0: value = nil
        case 1: value = false
        case 2: value = true
        default: throw .malformed
        }
    }

    package mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(StoredFormFault) {
        value = try optionalNumber().map { Timestamp(millisecondsSince1970: $0) }
    }

    package mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(StoredFormFault) {
        let count = Int(try integer(UInt32.self)) - 1
        guard count >= 0 else { value = nil; return }
        var texts: [String] = []
        for _ in 0..<count {
            var text = ""
            try required(name, &text)
            texts.append(text)
        }
        value = texts
    }

    package mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(StoredFormFault) {
        var bytes: [UInt8] = []
        try data(&bytes)
        guard let object = JSONValue.compactObject(bytes) else { throw .malformed }
        value = object
    }

    package mutating func visitedFields(_ extent: SignedExtent) throws(StoredFormFault) -> SignedExtent {
        guard let extent = SignedExtent(rawValue: try integer(UInt8.self)) else { throw .malformed }
        return extent
    }

    package func invalid(_ name: StaticString) throws(StoredFormFault) { throw .malformed }

    private mutating func optionalNumber() throws(StoredFormFault) -> Int64? {
        var isThere = false, number: Int64 = 0
        try bit(&isThere)
        guard isThere else { return nil }
        try self.number(&number)
        return number
    }

    private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws(StoredFormFault) -> Number {
        var number: Number = 0
        for index in try take(Number.bitWidth / 8) { number = number << 8 | Number(bytes[index]) }
        return number
    }

    private mutating func take(_ count: Int) throws(StoredFormFault) -> Range<Int> {
        guard count <= bytes.count - position else { throw .malformed }
        defer { position += count }
        return position..<position + count
    }
}
