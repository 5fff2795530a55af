// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts
public import Secrets

/// The purchase that a verification is about: signed evidence, or an identifier to look up at Apple.
public enum VerificationSubject: Sendable {
    /// Locally verified evidence.
    case signed(VerifiedEvidence)
    /// A transaction of an app that the client named without proof: only Apple can answer.
    case lookup(bundleID: String, transactionID: String)
}

extension VerificationSubject {
    /// The evidence; nil for a lookup.
    public var evidence: VerifiedEvidence? {
        if case .signed(let evidence) = self { evidence } else { nil }
    }

    /// The app; nil if the evidence names none.
    public var bundleID: String? {
        switch self {
        case .signed(let evidence): evidence.bundleID
        case .lookup(let bundleID, _): bundleID
        }
    }

    /// The environment; nil if it is not signed.
    public var environment: Environment? { evidence?.environment }

    /// The subject's part of cache keys.
    public var identity: Identity {
        switch self {
        case .signed(let evidence): .signedContent(evidence.identity)
        case .lookup(_, let transactionID): .transaction(transactionID)
        }
    }

    /// The kinds of identity. An identifier that a client sent never equals signed content.
    public enum Identity: Hashable, Sendable {
        /// SHA-256 of the signed content.
        case signedContent(Fingerprint)
        /// A transaction ID, as the client sent it.
        case transaction(String)
    }
}

extension VerificationSubject: Redacted {
    /// The kind, without anything that identifies an app or a purchase.
    public var description: String {
        switch self {
        case .signed(let evidence): "VerificationSubject(\(evidence))"
        case .lookup: "VerificationSubject(lookup)"
        }
    }
}
