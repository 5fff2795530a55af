// SPDX-License-Identifier: Apache-2.0

/// The kind of an answer, or of its absence; the raw values stand in results.
enum LoadOutcome: String, CaseIterable, Codable, Sendable {
    /// From the memory of the node that got the request.
    case hitNear = "hit_near"
    case hitShared = "hit_shared"
    /// From the receipt alone.
    case local
    /// From the evidence alone, labelled: the gateway needed Apple's answer and did not get it.
    case degraded
    case upstream
    /// From another request to Apple about the same receipt.
    case collapsed
    /// From an earlier answer of Apple's.
    case stale
    case rejected
    case undecided
    /// 2xx of a server that says nothing of verdicts.
    case ok
    /// 429 or 503: the server had too much to do, and said so.
    case shed
    /// Another status below 500.
    case refused
    /// Another status, or no answer.
    case error

    var index: Int {
        // The synthesized search through `allCases` would cost more than reading the answer.
        switch self {
        case .hitNear: 0
        case .hitShared: 1
        case .local: 2
        case .degraded: 3
        case .upstream: 4
        case .collapsed: 5
        case .stale: 6
        case .rejected: 7
        case .undecided: 8
        case .ok: 9
        case .shed: 10
        case .refused: 11
        case .error: 12
        }
    }

    /// Classifies an answer by its status, its field Cache-Status and the beginning of its body.
    init(status: Int, cache: AnsweredCacheStatus, opening: Span<UInt8>) {
        switch status {
        case 200..<300: self = Self.verdict(opening, cache) ?? Self.withoutVerdict(opening, cache)
        case 429, 503: self = .shed
        case 300..<500: self = .refused
        default: self = .error
        }
    }

    private static func withoutVerdict(_ opening: Span<UInt8>, _ cache: AnsweredCacheStatus) -> LoadOutcome {
        if let status = appleStatus(opening), let outcome = outcome(ofAppleStatus: status) { return outcome }
        if cache.contains(.degraded) { return .degraded }
        return cache.contains(.hit) ? .hitShared : .ok
    }

    /// Returns the status that an answer in the form of verifyReceipt begins with.
    private static func appleStatus(_ opening: Span<UInt8>) -> Int? {
        let name: StaticString = #"{"status":"#
        guard opening.starts(with: name) else { return nil }
        var status = 0
        for index in name.utf8CodeUnitCount..<min(opening.count, name.utf8CodeUnitCount + 6) {
            guard let digit = opening[index].decimalValue else { break }
            status = status * 10 + digit
        }
        return status
    }

    /// Returns nil for a genuine receipt (0, or 21006 with an expired subscription), and for statuses that are not Apple's.
    private static func outcome(ofAppleStatus status: Int) -> LoadOutcome? {
        switch status {
        case 21006: nil
        // Apple's servers, or the gateway in their place, could not say.
        case 21005, 21009, 21100...21199: .undecided
        case 21000...21010: .rejected
        default: nil
        }
    }

    /// A gateway's answer begins with the verdict; `source` and `cache` stand in the provenance, close behind.
    private static func verdict(_ opening: Span<UInt8>, _ cache: AnsweredCacheStatus) -> LoadOutcome? {
        switch opening.letter(after: #""verdict":""#, within: 24) {
        case UInt8(ascii: "g"): genuine(opening, cache)
        case UInt8(ascii: "r"): .rejected
        case UInt8(ascii: "u"): .undecided
        default: nil
        }
    }

    private static func genuine(_ opening: Span<UInt8>, _ cache: AnsweredCacheStatus) -> LoadOutcome {
        switch opening.letter(after: #""cache":""#) {
        case UInt8(ascii: "n"): return .hitNear
        case UInt8(ascii: "s"): return opening.containsText(#""cache":"stale""#) ? .stale : .hitShared
        default: break
        }
        // Of the evidence, or of Apple's stored notifications: without a call to Apple.
        let isLocal = [UInt8(ascii: "l"), UInt8(ascii: "n")].contains(opening.letter(after: #""source":""#))
        // First: a request that waited for another request's call may get no answer of Apple's either.
        if isLocal, opening.containsText(#""degraded":true"#) { return .degraded }
        if cache.contains(.collapsed) { return .collapsed }
        return isLocal ? .local : .upstream
    }
}

/// The reason for which a request has no answer; the raw values stand in results.
enum RequestFailure: String, CaseIterable, Codable, Sendable {
    case timeout
    case connectionEnded = "connection_ended"
    /// The bytes were no answer in HTTP/1.1, or exceeded a limit.
    case badAnswer = "bad_answer"
    /// All connections waited for answers, or none could be made, until the timeout. The request was not sent.
    case noConnection = "no_connection"
    /// More requests waited for a connection than may. The request was not sent.
    case queueFull = "queue_full"
}
