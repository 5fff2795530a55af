// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTransport
package import Receipts

/// Apple's answer, and what came with it.
package struct VerifyReceiptReply: Sendable {
    /// What Apple says, about the receipt or about itself.
    package let response: VerifyReceiptResponse
    /// What the header says.
    package let head: ReplyHead
}

/// Why there is no answer of Apple's.
package enum VerifyReceiptFailure: Error, Hashable, Sendable {
    /// No answer came.
    case transport(TransportError)
    /// 429: too many requests. `head.retryAfter` says for how long to be silent.
    case throttled(ReplyHead)
    /// 5xx: Apple's servers, or what stands before them, failed.
    case serverError(ReplyHead)
    /// Any other status than 200, redirects included: a wrong URL, or a proxy.
    case unexpectedStatus(ReplyHead)
    /// 200 with a body that is no answer.
    case unusable(AppStoreFault, ReplyHead)
}

extension VerifyReceiptFailure {
    /// What the header says; nil if none came.
    package var head: ReplyHead? {
        switch self {
        case .transport: nil
        case .throttled(let head), .serverError(let head), .unexpectedStatus(let head), .unusable(_, let head): head
        }
    }
}

/// What the header of an answer says, whatever its body is.
package struct ReplyHead: Hashable, Sendable {
    /// The HTTP status.
    package let httpStatus: Int
    /// `x-apple-jingle-correlation-key`: Apple's name for this exchange, to be logged. Letters, digits, `.`, `_` and
    /// `-` only, at most 64 of them.
    package let correlationKey: String?
    /// How long Apple asks to wait before the next request, at most an hour.
    package let retryAfter: Duration?
    /// What Apple announces about the endpoint's end.
    package let announcements: EndpointAnnouncements
    /// `Date`: what Apple's clock said, in whole seconds.
    package var date: Timestamp?
    /// From the request's start to the answer's end.
    package let took: Duration
}

// MARK: - Reading

extension VerifyReceiptReply {
    /// Reads an answer that came at `now`.
    init(_ answer: TransportResponse, at now: Timestamp) throws(VerifyReceiptFailure) {
        let head = ReplyHead(answer, at: now)
        switch answer.status {
        case 200: break
        case 429: throw .throttled(head)
        case 500...599: throw .serverError(head)
        default: throw .unexpectedStatus(head)
        }
        do throws(AppStoreFault) {
            response = try VerifyReceiptResponse(parsing: answer.body)
        } catch {
            throw .unusable(error, head)
        }
        self.head = head
    }
}

extension ReplyHead {
    init(_ answer: TransportResponse, at now: Timestamp) {
        httpStatus = answer.status
        correlationKey = answer.headers.values(of: "x-apple-jingle-correlation-key").first.flatMap(Self.harmless)
        retryAfter = RetryAfter.duration(answer.headers.values(of: "Retry-After"), now: now)
        announcements = EndpointAnnouncements(now: now, values: answer.headers.values(of:))
        date = answer.headers.values(of: "Date").first.flatMap { HTTPDate.timestamp($0, now: now) }
        took = answer.timings.total
    }

    /// What of a value may stand in a log line as it is.
    private static func harmless(_ value: String) -> String? {
        let characters = value.utf8.lazy.filter(\.isHarmless).prefix(maximumCorrelationKeyBytes)
        return characters.isEmpty ? nil : String(decoding: Array(characters), as: UTF8.self)
    }

    private static let maximumCorrelationKeyBytes = 64
}

extension UInt8 {
    fileprivate var isHarmless: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
