// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import HTTPClient
internal import JSON
package import Receipts

package struct VerifyReceiptReply: Sendable {
    package let response: VerifyReceiptResponse
    package let head: ReplyHead
}

package enum VerifyReceiptFailure: Error, Hashable, Sendable {
    case transport(TransportError)
    /// 429: too many requests. `head.retryAfter` is the wait that Apple requests.
    case throttled(ReplyHead)
    /// 5xx: a fault of Apple's servers, or of a proxy before them.
    case serverError(ReplyHead)
    /// Any status other than 200, redirects included: a wrong URL, or a proxy.
    case unexpectedStatus(ReplyHead)
    case unusable(AppStoreFault, ReplyHead)

    package var head: ReplyHead? {
        switch self {
        case .transport: nil
        case .throttled(let head), .serverError(let head), .unexpectedStatus(let head), .unusable(_, let head): head
        }
    }
}

package struct ReplyHead: Hashable, Sendable {
    package let httpStatus: Int
    /// `x-apple-jingle-correlation-key`: Apple's ID of this exchange, for logs. Only letters, digits, `.`, `_` and `-`,
    /// at most 64 of them.
    package let correlationKey: String?
    /// The wait before the next request, at most an hour.
    package let retryAfter: Duration?
    package let announcements: EndpointAnnouncements
    /// `Date`: the time of Apple's clock, in whole seconds.
    package var date: Timestamp?
    /// The time of the answer on this node's clock.
    let receivedAt: Timestamp
    package let took: Duration
}

extension VerifyReceiptReply {
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
    /// The pause after 429: Apple's, or some seconds. The end that Apple names may be past by this node's clock.
    var pauseAfterThrottling: Duration { max(retryAfter ?? .seconds(5), .seconds(1)) }

    /// The pause that Apple requests with 503 (RFC 9110 §15.6.4); nil if it requests none.
    var pauseWhileUnavailable: Duration? {
        guard httpStatus == 503, let retryAfter, retryAfter > .zero else { return nil }
        return retryAfter
    }

    init(_ answer: TransportResponse, at now: Timestamp) {
        httpStatus = answer.status
        receivedAt = now
        correlationKey = answer.headers.values(of: "x-apple-jingle-correlation-key").first.flatMap(Self.harmless)
        announcements = EndpointAnnouncements(now: now, values: answer.headers.values(of:))
        let date = answer.headers.values(of: "Date").first.flatMap { HTTPDate.timestamp($0, now: now) }
        self.date = date
        // `Retry-After` is in Apple's time. `Date` has whole seconds: it counts if this node's clock is clearly wrong.
        let apple = date.flatMap { $0.duration(to: now).magnitude > Self.maximumDateDifference ? $0 : nil } ?? now
        retryAfter = RetryAfter.duration(answer.headers.values(of: "Retry-After"), now: apple)
        took = answer.took
    }

    private static func harmless(_ value: String) -> String? {
        let characters = value.utf8.lazy.filter(ASCII.isSafe).prefix(maximumCorrelationKeyBytes)
        return characters.isEmpty ? nil : String(decoding: Array(characters), as: UTF8.self)
    }

    private static let maximumCorrelationKeyBytes = 64
    private static let maximumDateDifference: Duration = .seconds(10)
}

/// Recognises parts of a request in a text of the response, as proxies and error pages repeat them.
enum Echo {
    /// Returns true if a text must not be shown: it has 8 consecutive bytes of what was sent.
    static func isContained(in text: String, of sent: [[UInt8]]) -> Bool {
        var words: Set<UInt64> = []
        forEachWord(of: Array(text.utf8)) { words.insert($0) }
        var isEchoed = false
        for sent in sent where !words.isEmpty {
            forEachWord(of: sent) { isEchoed = isEchoed || words.contains($0) }
        }
        return isEchoed
    }

    /// Calls `body` with each eight consecutive bytes, as a number.
    private static func forEachWord(of bytes: [UInt8], _ body: (UInt64) -> Void) {
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if index >= 7 { body(word) }
        }
    }
}

/// The reason why a body is not a usable answer of Apple, as in outages or from proxies. Holds no byte of the body.
package enum AppStoreFault: Error, Hashable, Sendable {
    /// Empty, or only white space.
    case empty
    /// A web page: the usual body of outages and proxies.
    case html
    case truncated
    /// More bytes or values than the gateway reads.
    case tooLarge
    /// Not JSON by RFC 8259: the name of the broken rule, and its position in bytes from 0.
    case notJSON(rule: String, position: Int)
    case notAnObject
    case noStatus
    case unreadableStatus
    /// A required member is missing; its name, after the names of the enclosing members.
    case missing(String)
    /// A member that decides about entitlements has an undocumented type; its name likewise.
    case unreadable(String)

    package var label: String {
        switch self {
        case .empty: "empty"
        case .html: "html"
        case .truncated: "truncated"
        case .tooLarge: "too_large"
        case .notJSON: "not_json"
        case .notAnObject: "not_an_object"
        case .noStatus: "no_status"
        case .unreadableStatus: "unreadable_status"
        case .missing: "missing_member"
        case .unreadable: "unreadable_member"
        }
    }

    init(_ fault: JSONFault, in body: [UInt8]) {
        switch fault.rule {
        case .emptyBody: self = .empty
        case .truncated: self = .truncated
        case .tooLarge, .tooManyValues: self = .tooLarge
        default:
            let first = body.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            let isHTML = first.startIndex == fault.position && first.first == UInt8(ascii: "<")
            self = isHTML ? .html : .notJSON(rule: fault.rule.name, position: fault.position)
        }
    }
}
