// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Receipts
internal import Telemetry

/// A parser of HTTP/1.1 requests (RFC 9112), as a value: bytes in, parts of requests out.
///
/// It accepts only what the grammar allows. Lines end with CR and LF, fields are not folded, and a body has one length.
/// Input that a proxy in front could read differently is refused. The limits bound memory: only an incomplete line
/// waits in the buffer.
struct RequestParser {
    enum Limits {
        /// The maximum bytes of a method, more than any in use has.
        static let method = 32
        /// The maximum number of empty lines before a request (RFC 9112 §2.2).
        static let emptyLines = 1
        /// The maximum bytes of a chunk's size and its extensions (RFC 9112 §7.1.1).
        static let chunkLine = 256
        /// The maximum bytes of white space around the value of a field, in addition to the limit of the field.
        static let fieldWhiteSpace = 64
        /// The memory reserved for the fields of a request, in bytes; most headers are smaller.
        static let usualFields = 384
    }

    private enum Phase {
        case requestLine
        case fields
        case body(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailers
        case end
    }

    private let limits: HTTPLimits
    private var phase = Phase.requestLine
    /// The number of bytes at the front of the buffer that hold no line end.
    private var searchedBytes = 0
    private var emptyLines = 0
    private var (method, target, version) = (HTTPRequest.Method.get, "", RequestHead.Version.http1_1)
    private var fields = FieldLines()
    private var fieldBytes = 0
    private var fieldCount = 0
    private var framing = BodyFraming()
    /// True if the arriving request is known to be for HEAD, whose answer has no body (RFC 9110 §9.3.2).
    private(set) var isHead = false

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    func isWithinRequest(before buffer: ByteBuffer) -> Bool {
        if case .requestLine = phase { buffer.readableBytes > 0 } else { true }
    }

    /// Returns the next part of a request from the front of the buffer; nil until more has arrived.
    /// - Throws: the reason to refuse the request. The parser must not be used after that.
    mutating func next(in buffer: inout ByteBuffer) throws(EdgeRefusal) -> RequestPart? {
        while true {
            switch phase {
            case .requestLine:
                guard try readRequestLine(&buffer) else { return nil }
            case .fields:
                guard let isField = try readField(&buffer) else { return nil }
                if !isField { return .head(try finishHead()) }
            case .body(remaining: 0), .end:
                phase = .requestLine
                return .end
            case .body(let remaining):
                guard let part = readBody(&buffer, upTo: remaining) else { return nil }
                phase = .body(remaining: remaining - part.readableBytes)
                return .body(part)
            case .chunkSize:
                guard try readChunkSize(&buffer) else { return nil }
            case .chunk(remaining: 0): phase = .chunkEnd
            case .chunk(let remaining):
                guard let part = readBody(&buffer, upTo: remaining) else { return nil }
                phase = .chunk(remaining: remaining - part.readableBytes)
                return .body(part)
            case .chunkEnd:
                guard let length = try lineLength(in: buffer, upTo: 0, beyond: .malformed) else { return nil }
                buffer.moveReaderIndex(forwardBy: length + Self.lineEnd)
                phase = .chunkSize
            case .trailers:
                guard let isField = try readField(&buffer) else { return nil }
                if !isField { phase = .end }
            }
        }
    }

    private func readBody(_ buffer: inout ByteBuffer, upTo count: Int) -> ByteBuffer? {
        buffer.readableBytes > 0 ? buffer.readSlice(length: min(count, buffer.readableBytes)) : nil
    }

    /// CR and LF (RFC 9112 §2.2).
    private static let lineEnd = 2

    /// Returns the number of bytes before the CR and LF of the line at the front of the buffer; nil until it is
    /// complete.
    /// - Parameter refusal: for a line longer than the limit.
    private mutating func lineLength(
        in buffer: ByteBuffer, upTo limit: Int, beyond refusal: @autoclosure () -> EdgeRefusal
    ) throws(EdgeRefusal) -> Int? {
        let bytes = buffer.readableBytesUInt8Span
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: searchedBytes) else {
            searchedBytes = bytes.count
            // One more byte may be the CR of a line that is just short enough.
            if searchedBytes > limit + 1 { throw refusal() }
            return nil
        }
        searchedBytes = 0
        // Length is checked first, as for a line that arrives in pieces.
        guard end <= limit + 1 else { throw refusal() }
        guard end > 0, bytes[end - 1] == UInt8(ascii: "\r") else { throw .malformed }
        return end - 1
    }

    // MARK: - The request line

    /// Reads `method SP request-target SP HTTP-version` (RFC 9112 §3). Returns false until it is complete.
    private mutating func readRequestLine(_ buffer: inout ByteBuffer) throws(EdgeRefusal) -> Bool {
        if searchedBytes < 5 { isHead = buffer.readableBytesUInt8Span.begins(with: "HEAD ") }
        let longest = Limits.method + limits.target.bytes + " ".utf8.count * 2 + "HTTP/1.1".utf8.count
        let length = try lineLength(in: buffer, upTo: longest, beyond: Self.refusal(ofLongLine: buffer))
        guard let length else { return false }
        if length > 0 {
            try begin(RequestLine(buffer.readableBytesUInt8Span.extracting(0..<length)), in: buffer)
        } else {
            emptyLines += 1
            guard emptyLines <= Limits.emptyLines else { throw .malformed }
        }
        buffer.moveReaderIndex(forwardBy: length + Self.lineEnd)
        return true
    }

    private mutating func begin(_ line: RequestLine, in bytes: ByteBuffer) throws(EdgeRefusal) {
        guard let version = line.version else { throw .version }
        let text = bytes.readableBytesUInt8Span
        guard let method = Self.method(text.extracting(line.method)) else { throw .notImplemented }
        guard line.target.count <= limits.target.bytes else { throw .targetTooLong }
        (self.method, target, self.version) = (method, String(copying: text.extracting(line.target)), version)
        fields = FieldLines(reservingCapacity: Limits.usualFields)
        (emptyLines, fieldBytes, fieldCount, framing) = (0, 0, 0, BodyFraming())
        phase = .fields
    }

    /// RFC 9112 §3: 414 for a target that is too long, 501 for a method longer than any known method.
    private static func refusal(ofLongLine bytes: ByteBuffer) -> EdgeRefusal {
        let bytes = bytes.readableBytesUInt8Span
        let method = bytes.tokenEnd(from: 0)
        if method > Limits.method { return .notImplemented }
        return method > 0 && bytes[method] == UInt8(ascii: " ") ? .targetTooLong : .malformed
    }

    /// Returns a method of RFC 9110 §9.3 or RFC 5789, except CONNECT; nil for any other (RFC 9110 §9.1). Methods are
    /// case-sensitive.
    private static func method(_ name: Span<UInt8>) -> HTTPRequest.Method? {
        for method in methods where name.equals(method.rawValue.utf8.span) { return method }
        return nil
    }

    private static let methods: [HTTPRequest.Method] = [.post, .get, .head, .delete, .put, .options, .patch, .trace]
}

private struct RequestLine {
    let method: Range<Int>
    let target: Range<Int>
    /// The version; nil for an unsupported version.
    let version: RequestHead.Version?

    init(_ line: Span<UInt8>) throws(EdgeRefusal) {
        let methodEnd = line.tokenEnd(from: 0)
        guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == UInt8(ascii: " ") else { throw .malformed }
        guard let targetEnd = line.targetEnd(from: methodEnd + 1), targetEnd > methodEnd + 1 else { throw .malformed }
        (method, target) = (0..<methodEnd, methodEnd + 1..<targetEnd)
        version = try Self.version(line.extracting(targetEnd...))
    }

    /// Parses `SP "HTTP" "/" DIGIT "." DIGIT` (RFC 9112 §2.3). Protocols with a similar request line, such as RTSP/1.0
    /// and ICE/1.0, are malformed.
    private static func version(_ text: Span<UInt8>) throws(EdgeRefusal) -> RequestHead.Version? {
        guard text.count == 9, text.begins(with: " HTTP/"), text[6].isDigit, text[7] == UInt8(ascii: "."),
            text[8].isDigit
        else { throw .malformed }
        switch (text[6], text[8]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): return .http1_1
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): return .http1_0
        default: return nil
        }
    }
}

// MARK: - Fields

extension RequestParser {
    /// Reads `field-name ":" OWS field-value OWS` (RFC 9112 §5). A line that begins with white space is a folded line,
    /// which a server refuses (§5.2). Returns false for the empty line after the last field; nil until the line is
    /// complete.
    private mutating func readField(_ buffer: inout ByteBuffer) throws(EdgeRefusal) -> Bool? {
        let longest = limits.headerField.bytes + ":".utf8.count + Limits.fieldWhiteSpace
        guard let length = try lineLength(in: buffer, upTo: longest, beyond: .headerTooLarge) else { return nil }
        if length > 0 { try addField(buffer, length) }
        buffer.moveReaderIndex(forwardBy: length + Self.lineEnd)
        return length > 0
    }

    private mutating func addField(_ buffer: ByteBuffer, _ length: Int) throws(EdgeRefusal) {
        let line = buffer.readableBytesUInt8Span.extracting(0..<length)
        let (name, value) = try Self.split(line)
        fieldCount += 1
        fieldBytes += name.count + value.count
        guard fieldCount <= limits.headerFieldCount, name.count + value.count <= limits.headerField.bytes,
            fieldBytes <= limits.headerList.bytes
        else { throw .headerTooLarge }
        // Trailers may be left out (RFC 9110 §6.5.1).
        guard case .fields = phase else { return }
        fields.append(name: line.extracting(name), value: line.extracting(value))
        try framing.add(line.extracting(name), line.extracting(value))
    }

    /// Splits a field into a token and visible characters with white space between them (RFC 9110 §5.1, §5.5). Control
    /// characters and white space before the colon are refused (RFC 9112 §5.1).
    private static func split(_ line: Span<UInt8>) throws(EdgeRefusal) -> (name: Range<Int>, value: Range<Int>) {
        let nameEnd = line.tokenEnd(from: 0)
        guard nameEnd > 0, nameEnd < line.count, line[nameEnd] == UInt8(ascii: ":") else { throw .malformed }
        for index in nameEnd + 1..<line.count where !line[index].isPartOfFieldValue { throw .malformed }
        return (0..<nameEnd, line.trimmed(nameEnd + 1..<line.count))
    }

    private mutating func finishHead() throws(EdgeRefusal) -> RequestHead {
        switch try framing.length(in: version) {
        case .bytes(let count): phase = .body(remaining: count)
        case .chunked: phase = .chunkSize
        }
        // The header owns its fields from here on.
        defer { fields = FieldLines() }
        return RequestHead(method: method, target: target, version: version, fields: fields)
    }

    // MARK: - Chunks

    /// Reads `chunk-size [ chunk-ext ]` (RFC 9112 §7.1); extensions are ignored. Returns false until the line is
    /// complete.
    private mutating func readChunkSize(_ buffer: inout ByteBuffer) throws(EdgeRefusal) -> Bool {
        guard let length = try lineLength(in: buffer, upTo: Limits.chunkLine, beyond: .malformed) else { return false }
        let size = try Self.chunkSize(buffer.readableBytesUInt8Span.extracting(0..<length))
        buffer.moveReaderIndex(forwardBy: length + Self.lineEnd)
        guard let size, size <= limits.body.bytes else { throw .bodyTooLarge }
        phase = size == 0 ? .trailers : .chunk(remaining: size)
        return true
    }

    /// - Returns: nil for a number that overflows (RFC 9112 §7.1 warns of these).
    private static func chunkSize(_ line: Span<UInt8>) throws(EdgeRefusal) -> Int? {
        var size: Int? = 0
        var index = 0
        while index < line.count, let digit = ASCII.hexadecimalValue(of: line[index]) {
            size = size.flatMap { $0 <= Int.max >> 4 ? $0 << 4 | Int(digit) : nil }
            index += 1
        }
        guard index > 0 else { throw .malformed }
        if index < line.count {
            // BWS is allowed before the semicolon of an extension, and nowhere else.
            while index < line.count, line[index].isWhiteSpace { index += 1 }
            guard index < line.count, line[index] == UInt8(ascii: ";") else { throw .malformed }
            guard line.extracting(index...).isExtensions else { throw .malformed }
        }
        return size
    }
}

extension Span<UInt8> {
    /// True for `*( ";" token [ "=" ( token / quoted-string ) ] )`, as far as a reader must know where it ends: only
    /// characters of fields, and no quoted string that is left open (RFC 9112 §7.1.1).
    fileprivate var isExtensions: Bool {
        var (isQuoted, isEscaped) = (false, false)
        for index in indices {
            guard self[index].isPartOfFieldValue else { return false }
            if self[index] == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && self[index] == UInt8(ascii: "\\")
        }
        return !isQuoted
    }
}
