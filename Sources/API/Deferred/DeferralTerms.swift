// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import HTTPServer

/// The conditions under which the answer to a request is deferred. A class, because most requests have no terms.
final class DeferralTerms: Sendable {
    /// True if the request accepts 202 by itself (`Prefer: respond-async`).
    let isPreferred: Bool
    /// The time to wait for Apple; nil for the usual time.
    let waitLimit: Duration?
    let key: IdempotencyKey?
    /// The answers to defer.
    private let policy: DeferralPolicy

    /// Returns nil for a request that is never deferred, and joins no job.
    init?(_ header: RequestHeader, of client: Client) throws(Problem) {
        guard header.hasDeferralFields || client.deferral != .onRequest else { return nil }
        let preference = Preference(header.values(of: "Prefer"))
        isPreferred = preference.respondsAsync
        waitLimit = preference.respondsAsync ? preference.wait : nil
        policy = preference.respondsAsync ? .degraded : client.deferral
        key = try IdempotencyKey(header.values(of: IdempotencyKey.fieldName))
        if key == nil, policy == .onRequest { return nil }
    }

    /// Returns true for an answer that a later answer of Apple may replace.
    func defers(_ answer: Answer, to options: VerificationOptions) -> Bool {
        guard options.mode != .local else { return false }
        return switch answer.verdict {
        case .rejected: false
        case .undecided(.upstreamDidNotAnswer): policy != .onRequest && !answer.isFinal
        case .undecided: false
        case .genuine: policy == .degraded && !answer.isFinal
        }
    }
}

extension Answer {
    /// True if a repetition of the request would bring nothing better.
    ///
    /// A verdict is final if Apple's part in it is missing for a reason that does not pass by itself. Without a verdict a
    /// repair by the operator is worth the wait.
    var isFinal: Bool {
        switch verdict {
        case .rejected: true
        case .genuine: provenance.degradedReasons.allSatisfy { $0.facts.persistence != .passing }
        case .undecided:
            provenance.isDegraded && provenance.degradedReasons.allSatisfy { $0.facts.persistence == .permanent }
        }
    }
}
