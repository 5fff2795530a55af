// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore

/// A part of a request, as it arrives.
enum RequestPart: Sendable {
    case head(RequestHead)
    case body(ByteBuffer)
    case end
}

/// The request line and the fields of a request, as sent (RFC 9112 §2.1).
struct RequestHead: Sendable {
    /// The versions of HTTP that are served.
    enum Version: Sendable {
        case http1_0
        case http1_1
    }

    let method: HTTPRequest.Method
    let target: String
    let version: Version
    let fields: FieldLines
}

/// The fields of a header, as sent, in one piece of memory: most fields are never read as text.
struct FieldLines: Sendable {
    private struct Line {
        let start: Int
        let nameEnd: Int
        let end: Int
    }

    private var bytes: [UInt8] = []
    private var lines: [Line] = []

    /// - Parameter capacity: the expected number of bytes.
    init(reservingCapacity capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
        lines.reserveCapacity(capacity / 32)
    }

    var indices: Range<Int> { lines.indices }

    @_lifetime(borrow self)
    func name(at index: Int) -> Span<UInt8> {
        bytes.span.extracting(lines[index].start..<lines[index].nameEnd)
    }

    /// Returns the value without the white space around it.
    @_lifetime(borrow self)
    func value(at index: Int) -> Span<UInt8> {
        bytes.span.extracting(lines[index].nameEnd..<lines[index].end)
    }

    mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        let start = bytes.count
        bytes.append(name)
        let nameEnd = bytes.count
        bytes.append(value)
        lines.append(Line(start: start, nameEnd: nameEnd, end: bytes.count))
    }

    /// Returns the values of all fields with a name, which is compared without case (RFC 9110 §5.1).
    func values(of name: String) -> [String] {
        let name = name.lowercased()
        return indices.filter { self.name(at: $0).equalsIgnoringCase(name) }.map { String(copying: value(at: $0)) }
    }

    /// Returns the elements of all fields with a name, split at every comma, the last element first, with `?` for each
    /// byte beyond ASCII.
    /// - Parameter maximumCount: the elements to return.
    func lastElements(of name: String, maximumCount: Int) -> [String] {
        let name = name.lowercased()
        var elements: [String] = []
        for index in indices.reversed() where self.name(at: index).equalsIgnoringCase(name) {
            let value = value(at: index)
            var end = value.count
            while end >= 0, elements.count < maximumCount {
                let comma = (0..<end).last { value[$0] == UInt8(ascii: ",") } ?? -1
                // A proxy may have copied the client's text beside the address that it saw.
                let visible = (comma + 1..<end).map { value[$0] < 0x80 ? value[$0] : UInt8(ascii: "?") }
                elements.append(String(decoding: visible, as: UTF8.self))
                end = comma
            }
        }
        return elements
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ other: Span<UInt8>) {
        unsafe other.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}

extension String {
    /// Copies a part of a header, the only way from its bytes to text.
    ///
    /// RFC 9110 §5.5 limits the values of fields to ASCII. A value with other bytes becomes U+FFFD, which no grammar has:
    /// Swift would compare and split it as Unicode, in time with the square of its length.
    init(copying bytes: Span<UInt8>) {
        guard var text = try? UTF8Span(validating: bytes), text.checkForASCII() else {
            self = "\u{FFFD}"
            return
        }
        self.init(copying: text)
    }
}
