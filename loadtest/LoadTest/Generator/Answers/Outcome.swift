// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How a request was answered, or that it was not; the raw values stand in results.
enum Outcome: String, CaseIterable, Codable, Sendable {
    /// From the memory of the node that was asked.
    case hitNear = "hit_near"
    /// From what the fleet shares.
    case hitShared = "hit_shared"
    /// From the receipt alone.
    case local
    /// From Apple.
    case upstream
    /// From a question that another request had put to Apple.
    case collapsed
    /// From what Apple said some time ago.
    case stale
    /// The receipt is not genuine.
    case rejected
    /// No verdict.
    case undecided
    /// 2xx of a server that says nothing of verdicts.
    case ok
    /// 429 or 503: the server had too much to do, and said so.
    case shed
    /// Another status below 500.
    case refused
    /// Another status, or no answer.
    case error

    /// The place among all cases.
    var index: Int {
        // The synthesized search through `allCases` would cost more than reading the answer.
        switch self {
        case .hitNear: 0
        case .hitShared: 1
        case .local: 2
        case .upstream: 3
        case .collapsed: 4
        case .stale: 5
        case .rejected: 6
        case .undecided: 7
        case .ok: 8
        case .shed: 9
        case .refused: 10
        case .error: 11
        }
    }
}

extension Outcome {
    /// What an answer amounts to.
    ///
    /// - Parameters:
    ///   - cache: what the field Cache-Status said.
    ///   - opening: the beginning of the body.
    init(status: Int, cache: CacheStatus, opening: Span<UInt8>) {
        switch status {
        case 200..<300: self = Self.verdict(opening, cache) ?? (cache.contains(.hit) ? .hitShared : .ok)
        case 429, 503: self = .shed
        case 300..<500: self = .refused
        default: self = .error
        }
    }

    /// A gateway's answer begins with the verdict; `source` and `cache` stand in the provenance, close behind.
    private static func verdict(_ opening: Span<UInt8>, _ cache: CacheStatus) -> Outcome? {
        switch opening.letter(after: #""verdict":""#, within: 24) {
        case UInt8(ascii: "g"): genuine(opening, cache)
        case UInt8(ascii: "r"): .rejected
        case UInt8(ascii: "u"): .undecided
        default: nil
        }
    }

    private static func genuine(_ opening: Span<UInt8>, _ cache: CacheStatus) -> Outcome {
        switch opening.letter(after: #""cache":""#) {
        case UInt8(ascii: "n"): return .hitNear
        case UInt8(ascii: "s"): return opening.containsText(#""cache":"stale""#) ? .stale : .hitShared
        default: break
        }
        if cache.contains(.collapsed) { return .collapsed }
        return opening.letter(after: #""source":""#) == UInt8(ascii: "l") ? .local : .upstream
    }
}
