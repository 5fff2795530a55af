// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What asking Apple about a genuine receipt brought to light.
public enum Finding: Sendable {
    /// What Apple knows.
    case answered(UpstreamAnswer)
    /// The customer's account does not exist, or no longer does.
    case accountNotFound
    /// Nothing, and why.
    case unanswered(DegradedReason)
}

/// A finding and its time.
public struct KnownFinding: Sendable {
    /// What was found.
    public let finding: Finding
    /// When Apple was asked.
    public let askedAt: Timestamp
    /// It holds until then. States are derived from its dates whenever it is used, so what follows from it is never a
    /// subscription that lasts past its end.
    public let freshUntil: Timestamp

    /// A finding.
    public init(_ finding: Finding, askedAt: Timestamp, freshUntil: Timestamp) {
        self.finding = finding
        self.askedAt = askedAt
        self.freshUntil = freshUntil
    }

    /// Whether it may be repeated at `now`, to a caller who accepts this age.
    func isFresh(at now: Timestamp, maximumAge: Duration?) -> Bool {
        now < freshUntil && askedAt.isAccepted(at: now, maximumAge: maximumAge)
    }

    /// Whether it is `span` or less past its time.
    func isStale(within span: Duration, at now: Timestamp) -> Bool {
        now < freshUntil.advanced(by: span) && askedAt.isAccepted(at: now, maximumAge: nil)
    }

    /// Whether Apple spoke of the receipt's contents, `span` or less after that holds. That an account is gone is not
    /// repeated past its time: it would turn a customer away for somebody's mistake.
    func answerHolds(for span: Duration, at now: Timestamp) -> Bool {
        guard case .answered = finding else { return false }
        return isStale(within: span, at: now)
    }

    /// Whether a period of some subscription ended or began since Apple was asked: then Apple may know of another.
    func hasPassedBoundary(at now: Timestamp) -> Bool {
        guard case .answered(let answer) = finding,
            let boundary = nextBoundary(after: askedAt, in: answer.transactions, answer.renewals)
        else { return false }
        return boundary <= now
    }
}

/// Names a finding: the same key means the same question to Apple, however the receipt was encoded.
public struct FindingKey: Hashable, Sendable {
    /// SHA-256 of what Apple signed.
    public let signedContent: Fingerprint
    /// Whether old transactions were left out.
    public let excludesOldTransactions: Bool
    /// SHA-256 of the secret that the caller sent, if any: another secret is another question.
    public let callersSecret: Fingerprint?

    init(_ receipt: VerifiedReceipt, _ request: VerificationRequest) {
        signedContent = Fingerprint(of: receipt.signedContent)
        excludesOldTransactions = request.excludesOldTransactions
        callersSecret = request.callersSecret?.fingerprint
    }
}
