// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One field of a header, as ranges of the received bytes.
struct FieldLine {
    let name: Range<Int>
    /// The value without the white space around it.
    let value: Range<Int>

    var count: Int { name.count + value.count }
}

extension FieldLine {
    /// Splits a line into a token and visible characters with white space between them (RFC 9110 §5.1, §5.5). Control
    /// characters and white space before the colon are refused (RFC 9112 §5.1), and so is a line that begins with white
    /// space, which is a folded line (§5.2).
    init(_ line: Range<Int>, in bytes: Span<UInt8>) throws(EdgeRefusal) {
        let nameEnd = bytes.tokenEnd(from: line.lowerBound)
        guard nameEnd > line.lowerBound, nameEnd < line.upperBound, bytes[nameEnd] == UInt8(ascii: ":")
        else { throw .malformed }
        for index in nameEnd + 1..<line.upperBound where !bytes[index].isPartOfFieldValue { throw .malformed }
        self.init(name: line.lowerBound..<nameEnd, value: bytes.trimmed(nameEnd + 1..<line.upperBound))
    }
}

/// The fields that the edge uses, noted as they arrive: flags, and ranges of the received bytes.
struct HeaderFields: Sendable {
    private(set) var host = SingleValue.none
    private(set) var contentType = SingleValue.none
    private(set) var requestID = SingleValue.none
    private(set) var traceparent = SingleValue.none
    private(set) var origin = SingleValue.none
    private(set) var accept = SingleValue.none
    /// `Authorization` or `X-API-Key`.
    private(set) var hasCredentials = false
    /// True for a request with `Prefer` or `Idempotency-Key`.
    private(set) var hasDeferralFields = false
    /// True for `Content-Encoding` with another value than `identity`.
    private(set) var hasContentCoding = false
    /// True for `Expect: 100-continue`; nil for an unknown expectation.
    private(set) var expectsContinue: Bool? = false
    private(set) var framing = BodyFraming()
    private var wantsUpgrade = false
    private var isClosing = false
    private var isKeptAlive = false

    /// Field names ignore case (RFC 9110 §5.1).
    mutating func add(_ line: FieldLine, in bytes: Span<UInt8>) throws(EdgeRefusal) {
        let value = bytes.extracting(line.value)
        switch Lowercased(bytes.extracting(line.name)) {
        case "host": host.add(line.value)
        case "content-type": contentType.add(line.value)
        case "content-length": try framing.addContentLength(value)
        case "transfer-encoding": framing.addTransferCoding(value)
        case "authorization", "x-api-key": hasCredentials = true
        case "x-request-id": requestID.add(line.value)
        // Two of them are one list, and no such list is known.
        case "expect":
            expectsContinue = expectsContinue == false && value.equalsIgnoringCase("100-continue") ? true : nil
        case "content-encoding": hasContentCoding = hasContentCoding || !value.isNoCoding
        case "traceparent": traceparent.add(line.value)
        case "connection": addConnectionOptions(value)
        case "origin": origin.add(line.value)
        case "upgrade": wantsUpgrade = true
        case "prefer", "idempotency-key": hasDeferralFields = true
        case "accept": accept.add(line.value)
        default: break
        }
    }

    private mutating func addConnectionOptions(_ list: Span<UInt8>) {
        var start = 0
        while start <= list.count {
            let end = list.firstIndex(of: UInt8(ascii: ","), from: start) ?? list.count
            switch Lowercased(list.extracting(list.trimmed(start..<end))) {
            case "close": isClosing = true
            case "keep-alive": isKeptAlive = true
            default: break
            }
            start = end + 1
        }
    }

    /// RFC 9112 §9.3. A request to upgrade is answered without the upgrade, and later input is not read.
    func isLast(in version: RequestHeader.Version) -> Bool {
        isClosing || wantsUpgrade || version == .http1_0 && !isKeptAlive
    }
}

extension Span<UInt8> {
    /// True for an empty list of codings, and for `identity`, which some clients send (RFC 9110 §12.5.3).
    fileprivate var isNoCoding: Bool { count == 0 || equalsIgnoringCase("identity") }
}

/// A text that is compared with texts in lower case.
private struct Lowercased: ~Escapable {
    let text: Span<UInt8>

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    @inline(__always)
    static func ~= (pattern: String, name: borrowing Lowercased) -> Bool { name.text.equalsIgnoringCase(pattern) }
}

/// The length of a request's body, from the two fields that state it (RFC 9112 §6). Two lengths enable request
/// smuggling, so everything but one clear length is refused.
struct BodyFraming: Sendable {
    enum Length: Equatable {
        case bytes(Int)
        case chunked
    }

    private enum ContentLength {
        case bytes(Int)
        case overflow
    }

    private enum TransferCoding {
        case chunked
        /// `chunked` after codings that are not supported here.
        case unknown
        /// Anything that does not end in `chunked` (RFC 9112 §6.3).
        case endless
    }

    private var contentLength: ContentLength?
    private var transferCoding: TransferCoding?

    /// The announced length; nil for chunked bodies, and without an announcement.
    var announcedBytes: Int? {
        if case .bytes(let count)? = contentLength { count } else { nil }
    }

    /// Returns the length once all fields are known.
    ///
    /// A `Content-Length` beyond the limit is refused at once, even with more digits than any integer: by its grammar
    /// it is a number (RFC 9110 §8.6), so it is too large and not malformed.
    func length(in version: RequestHeader.Version) throws(EdgeRefusal) -> Length {
        switch (contentLength, transferCoding) {
        case (nil, nil): return .bytes(0)
        case (.bytes(let count), nil): return .bytes(count)
        case (.overflow, nil): throw .bodyTooLarge
        case (_?, _?): throw .malformed
        // RFC 9112 §6.1: HTTP/1.0 has no transfer codings.
        case (nil, _?) where version == .http1_0: throw .transferCoding
        case (nil, .chunked): return .chunked
        case (nil, .unknown): throw .notImplemented
        case (nil, .endless): throw .transferCoding
        }
    }

    /// Adds `1*DIGIT` (RFC 9110 §8.6).
    fileprivate mutating func addContentLength(_ value: Span<UInt8>) throws(EdgeRefusal) {
        // RFC 9110 §8.6 lets two equal values be read as one or refused; no client of ours sends them.
        guard contentLength == nil, value.count > 0 else { throw .malformed }
        var count: Int? = 0
        for index in value.indices {
            guard value[index].isDigit else { throw .malformed }
            count = count.flatMap { count in
                let (tens, overflows) = count.multipliedReportingOverflow(by: 10)
                let (sum, carries) = tens.addingReportingOverflow(Int(value[index] - UInt8(ascii: "0")))
                return overflows || carries ? nil : sum
            }
        }
        contentLength = count.map { .bytes($0) } ?? .overflow
    }

    /// Two fields are one list, in which `chunked` would stand twice or before another coding.
    fileprivate mutating func addTransferCoding(_ value: Span<UInt8>) {
        transferCoding = transferCoding == nil ? Self.transferCoding(value) : .endless
    }

    /// RFC 9112 §6.1 and §7: names of codings are case-insensitive.
    private static func transferCoding(_ value: Span<UInt8>) -> TransferCoding {
        if value.equalsIgnoringCase("chunked") { return .chunked }
        var start = 0
        var codings = 0
        for index in 0...value.count where index == value.count || value[index] == UInt8(ascii: ",") {
            let coding = value.extracting(value.trimmed(start..<index))
            let isLast = index == value.count
            guard coding.count > 0, coding.tokenEnd(from: 0) == coding.count,
                coding.equalsIgnoringCase("chunked") == isLast
            else { return .endless }
            (start, codings) = (index + 1, codings + 1)
        }
        return codings > 1 ? .unknown : .endless
    }
}
