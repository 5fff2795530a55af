// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore

/// What a client was told of a genuine receipt, and on whose word.
enum AnswerKind: String, CaseIterable, Hashable, Sendable {
    /// Genuine; Apple says so, now or within the age the client takes.
    case apple
    /// Genuine; Apple said so some time ago.
    case stale
    /// Genuine; the receipt alone says so, although Apple's word was wanted.
    case degraded
    /// Genuine; the receipt alone says so, and that was enough.
    case local
    /// Nothing.
    case undecided
    /// Not genuine.
    case rejected
    /// No answer, or another status than 200.
    case error

    /// Whether a genuine receipt was called genuine.
    var isGenuine: Bool {
        switch self {
        case .apple, .stale, .degraded, .local: true
        case .undecided, .rejected, .error: false
        }
    }
}

/// What an answer says of itself.
struct AnswerFacts: Hashable, Sendable, Decodable {
    let verdict: String
    let provenance: Provenance

    struct Provenance: Hashable, Sendable, Decodable {
        let source: String
        let cache: String
        let degraded: Bool
    }
}

extension AnswerKind {
    init(_ facts: AnswerFacts) {
        let provenance = facts.provenance
        switch (facts.verdict, provenance.source) {
        case ("rejected", _): self = .rejected
        case ("genuine", "apple"): self = provenance.cache == "stale" ? .stale : .apple
        case ("genuine", "local"): self = provenance.degraded ? .degraded : .local
        default: self = .undecided
        }
    }

    init(_ reply: Result<Reply, DriveError>) {
        guard case .success(let reply) = reply, reply.status == 200,
            let facts = try? JSONDecoder().decode(AnswerFacts.self, from: Data(reply.body.readableBytesView))
        else {
            self = .error
            return
        }
        self.init(facts)
    }
}
