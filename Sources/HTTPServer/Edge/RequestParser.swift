// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Receipts

enum RequestPart: Sendable {
    case head(RequestHeader)
    case body(ByteBuffer)
    case end
}

/// A parser of HTTP/1.1 requests (RFC 9112), as a value: bytes in, parts of requests out.
///
/// It accepts only what the grammar allows. Lines end with CR and LF, fields are not folded, and a body has one length.
/// Input that a proxy in front could read differently is refused. The limits bound memory: only an incomplete header, or
/// another incomplete line, waits in the buffer.
///
/// The lines of a header are checked as they arrive, where they were received. A complete header is copied once: it must
/// not keep the buffer in memory for as long as its request lives.
struct RequestParser {
    enum Limits {
        /// The maximum bytes of a method, more than any in use has.
        static let method = 32
        /// The maximum number of empty lines before a request (RFC 9112 §2.2).
        static let emptyLines = 1
        /// The maximum bytes of a chunk's size and its extensions (RFC 9112 §7.1.1).
        static let chunkLine = 256
        /// The maximum bytes of white space around the value of a field. The bytes of a header stay until it is complete.
        static let fieldWhiteSpace = 64
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
    /// The number of bytes of the incomplete line that hold no line end.
    private var searchedBytes = 0
    private var emptyLines = 0
    private var line = RequestLine()
    private var fields = HeaderFields()
    /// The bytes of the arriving header that are checked, at the front of the buffer.
    private var headerBytes = 0
    private var fieldBytes = 0
    private var fieldCount = 0
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
            case .fields:
                guard let header = try readFields(buffer.readableBytesUInt8Span) else { return nil }
                buffer.moveReaderIndex(forwardBy: headerBytes + Self.lineEnd)
                return .head(header)
            case .body(remaining: 0), .end:
                phase = .requestLine
                return .end
            case .body(let remaining):
                guard let part = readBody(&buffer, upTo: remaining) else { return nil }
                phase = .body(remaining: remaining - part.readableBytes)
                return .body(part)
            case .chunk(remaining: 0): phase = .chunkEnd
            case .chunk(let remaining):
                guard let part = readBody(&buffer, upTo: remaining) else { return nil }
                phase = .chunk(remaining: remaining - part.readableBytes)
                return .body(part)
            case .requestLine, .chunkSize, .chunkEnd, .trailers:
                guard let count = try readLine(buffer.readableBytesUInt8Span) else { return nil }
                buffer.moveReaderIndex(forwardBy: count)
            }
        }
    }

    /// Reads a line that is needed no longer. Returns its bytes with the CR and LF; nil until it is complete. The request
    /// line is read and stays, as a part of its header.
    private mutating func readLine(_ bytes: Span<UInt8>) throws(EdgeRefusal) -> Int? {
        let line =
            switch phase {
            case .requestLine: try requestLine(bytes)
            case .chunkSize: try line(in: bytes, upTo: Limits.chunkLine, beyond: .malformed)
            case .chunkEnd: try line(in: bytes, upTo: 0, beyond: .malformed)
            default: try fieldLine(in: bytes, from: 0)
            }
        guard let line else { return nil }
        switch phase {
        case .requestLine where line.isEmpty: try countEmptyLine()
        case .requestLine:
            try beginHeader(bytes, line)
            return 0
        case .chunkSize: try beginChunk(bytes.extracting(line))
        case .chunkEnd: phase = .chunkSize
        default:
            // Trailers may be left out (RFC 9110 §6.5.1).
            if line.isEmpty { phase = .end } else { _ = try readField(line, in: bytes) }
        }
        return line.count + Self.lineEnd
    }

    private func readBody(_ buffer: inout ByteBuffer, upTo count: Int) -> ByteBuffer? {
        buffer.readableBytes > 0 ? buffer.readSlice(length: min(count, buffer.readableBytes)) : nil
    }

    /// CR and LF (RFC 9112 §2.2).
    private static let lineEnd = 2

    /// Returns the line that begins at `start`, without its CR and LF; nil until it is complete.
    /// - Parameter refusal: for a line longer than the limit.
    private mutating func line(
        in bytes: Span<UInt8>, from start: Int = 0, upTo limit: Int, beyond refusal: @autoclosure () -> EdgeRefusal
    ) throws(EdgeRefusal) -> Range<Int>? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: start + searchedBytes) else {
            searchedBytes = bytes.count - start
            // One more byte may be the CR of a line that is just short enough.
            if searchedBytes > limit + 1 { throw refusal() }
            return nil
        }
        searchedBytes = 0
        // Length is checked first, as for a line that arrives in pieces.
        guard end - start <= limit + 1 else { throw refusal() }
        guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else { throw .malformed }
        return start..<end - 1
    }

    /// Returns the line of `method SP request-target SP HTTP-version` (RFC 9112 §3); nil until it is complete.
    private mutating func requestLine(_ bytes: Span<UInt8>) throws(EdgeRefusal) -> Range<Int>? {
        if searchedBytes < 5 { isHead = bytes.begins(with: "HEAD ") }
        let longest = Limits.method + limits.target.bytes + " ".utf8.count * 2 + "HTTP/1.1".utf8.count
        return try line(in: bytes, upTo: longest, beyond: RequestLine.refusal(ofLong: bytes))
    }

    private mutating func countEmptyLine() throws(EdgeRefusal) {
        emptyLines += 1
        guard emptyLines <= Limits.emptyLines else { throw .malformed }
    }

    private mutating func beginHeader(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(EdgeRefusal) {
        self.line = try RequestLine(bytes.extracting(line), limits)
        (emptyLines, fieldBytes, fieldCount, fields) = (0, 0, 0, HeaderFields())
        headerBytes = line.count + Self.lineEnd
        phase = .fields
    }

    /// Reads the fields that have arrived, up to the empty line after the last field. Returns nil until then.
    private mutating func readFields(_ bytes: Span<UInt8>) throws(EdgeRefusal) -> RequestHeader? {
        while let line = try fieldLine(in: bytes, from: headerBytes) {
            if line.isEmpty { return try finishHeader(bytes.extracting(0..<headerBytes)) }
            try fields.add(readField(line, in: bytes), in: bytes)
            headerBytes = line.upperBound + Self.lineEnd
        }
        return nil
    }

    private mutating func fieldLine(in bytes: Span<UInt8>, from start: Int) throws(EdgeRefusal) -> Range<Int>? {
        let longest = limits.headerField.bytes + ":".utf8.count + Limits.fieldWhiteSpace
        return try line(in: bytes, from: start, upTo: longest, beyond: .headerTooLarge)
    }

    /// Reads `field-name ":" OWS field-value OWS` (RFC 9112 §5).
    private mutating func readField(_ line: Range<Int>, in bytes: Span<UInt8>) throws(EdgeRefusal) -> FieldLine {
        let field = try FieldLine(line, in: bytes)
        fieldCount += 1
        fieldBytes += field.count
        guard fieldCount <= limits.headerFieldCount, field.count <= limits.headerField.bytes,
            fieldBytes <= limits.headerList.bytes,
            line.count - field.count <= ":".utf8.count + Limits.fieldWhiteSpace
        else { throw .headerTooLarge }
        return field
    }

    private mutating func finishHeader(_ bytes: Span<UInt8>) throws(EdgeRefusal) -> RequestHeader {
        let length = try fields.framing.length(in: line.version)
        switch length {
        case .bytes(let count): phase = .body(remaining: count)
        case .chunked: phase = .chunkSize
        }
        return try RequestHeader(copying: bytes, line, fields, length)
    }

    /// Reads `chunk-size [ chunk-ext ]` (RFC 9112 §7.1); extensions are ignored.
    private mutating func beginChunk(_ line: Span<UInt8>) throws(EdgeRefusal) {
        guard let size = try Self.chunkSize(line), size <= limits.body.bytes else { throw .bodyTooLarge }
        phase = size == 0 ? .trailers : .chunk(remaining: size)
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

/// The first line of a request (RFC 9112 §3).
struct RequestLine {
    var method = HTTPRequest.Method.get
    var target = 0..<0
    var version = RequestHeader.Version.http1_1
}

extension RequestLine {
    init(_ line: Span<UInt8>, _ limits: HTTPLimits) throws(EdgeRefusal) {
        let methodEnd = line.tokenEnd(from: 0)
        guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == UInt8(ascii: " ") else { throw .malformed }
        guard let targetEnd = line.targetEnd(from: methodEnd + 1), targetEnd > methodEnd + 1 else { throw .malformed }
        guard let version = try Self.version(line.extracting(targetEnd...)) else { throw .version }
        guard let method = Self.method(line.extracting(0..<methodEnd)) else { throw .notImplemented }
        let target = methodEnd + 1..<targetEnd
        guard target.count <= limits.target.bytes else { throw .targetTooLong }
        self.init(method: method, target: target, version: version)
    }

    /// RFC 9112 §3: 414 for a target that is too long, 501 for a method longer than any known method.
    static func refusal(ofLong bytes: Span<UInt8>) -> EdgeRefusal {
        let method = bytes.tokenEnd(from: 0)
        if method > RequestParser.Limits.method { return .notImplemented }
        return method > 0 && bytes[method] == UInt8(ascii: " ") ? .targetTooLong : .malformed
    }

    /// Returns a method of RFC 9110 §9.3 or RFC 5789, except CONNECT; nil for any other (RFC 9110 §9.1). Methods are
    /// case-sensitive.
    private static func method(_ name: Span<UInt8>) -> HTTPRequest.Method? {
        for method in methods where name.equals(method.rawValue.utf8.span) { return method }
        return nil
    }

    private static let methods: [HTTPRequest.Method] = [.post, .get, .head, .delete, .put, .options, .patch, .trace]

    /// Parses `SP "HTTP" "/" DIGIT "." DIGIT` (RFC 9112 §2.3). Protocols with a similar request line, such as RTSP/1.0
    /// and ICE/1.0, are malformed.
    /// - Returns: nil for an unsupported version.
    private static func version(_ text: Span<UInt8>) throws(EdgeRefusal) -> RequestHeader.Version? {
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
