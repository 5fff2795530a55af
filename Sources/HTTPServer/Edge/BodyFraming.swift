// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The length of a request's body, from the two fields that state it (RFC 9112 §6). Two lengths enable request
/// smuggling, so everything but one clear length is refused.
struct BodyFraming {
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

    /// Adds a field, if it is one of the two.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(EdgeRefusal) {
        if name.equalsIgnoringCase("content-length") {
            // RFC 9110 §8.6 lets two equal values be read as one or refused; no client of ours sends them.
            guard contentLength == nil else { throw .malformed }
            contentLength = try Self.contentLength(value)
        } else if name.equalsIgnoringCase("transfer-encoding") {
            // Two fields are one list, in which `chunked` would stand twice or before another coding.
            transferCoding = transferCoding == nil ? Self.transferCoding(value) : .endless
        }
    }

    /// Returns the length once all fields are known.
    ///
    /// A `Content-Length` beyond the limit is refused at once, even with more digits than any integer: by its grammar
    /// it is a number (RFC 9110 §8.6), so it is too large and not malformed.
    func length(in version: RequestHead.Version) throws(EdgeRefusal) -> Length {
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

    /// `1*DIGIT` (RFC 9110 §8.6).
    private static func contentLength(_ value: Span<UInt8>) throws(EdgeRefusal) -> ContentLength {
        guard value.count > 0 else { throw .malformed }
        var count: Int? = 0
        for index in value.indices {
            guard value[index].isDigit else { throw .malformed }
            count = count.flatMap { count in
                let (tens, overflows) = count.multipliedReportingOverflow(by: 10)
                let (sum, carries) = tens.addingReportingOverflow(Int(value[index] - UInt8(ascii: "0")))
                return overflows || carries ? nil : sum
            }
        }
        return count.map { .bytes($0) } ?? .overflow
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
