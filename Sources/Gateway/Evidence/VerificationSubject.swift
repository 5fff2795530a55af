// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// The purchase that a verification is about: signed evidence, or an identifier to look up at Apple.
package enum VerificationSubject: Sendable, Redacted {
    case signed(VerifiedEvidence)
    /// A transaction of an app that the client named without proof: only Apple can answer.
    case lookup(bundleID: String, transactionID: String)

    package var evidence: VerifiedEvidence? { if case .signed(let evidence) = self { evidence } else { nil } }

    /// The app; nil if the evidence names none.
    package var bundleID: String? {
        switch self {
        case .signed(let evidence): evidence.bundleID
        case .lookup(let bundleID, _): bundleID
        }
    }

    package var environment: Environment? { evidence?.environment }

    package var identity: Identity {
        switch self {
        // Apple also reads the unsigned members of a transaction receipt, so copies with others are other requests.
        case .signed(let evidence):
            .signedContent(
                evidence.transactionReceipt.map { Fingerprint(of: $0.bytes.span) } ?? evidence.identity)
        case .lookup(_, let transactionID): .transaction(transactionID)
        }
    }

    /// The kinds of identity. An identifier that a client sent never equals signed content.
    package enum Identity: Hashable, Sendable {
        case signedContent(Fingerprint)
        case transaction(String)
    }

    package var description: String {
        switch self {
        case .signed(let evidence): "VerificationSubject(\(evidence))"
        case .lookup: "VerificationSubject(lookup)"
        }
    }
}
