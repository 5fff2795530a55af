// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One named difference from an ordinary signed transaction, and the answer a verifier must give.
///
/// The verifier pins the forged root by its fingerprint, as it does Apple's, for the environments Production and Sandbox,
/// and trusts nothing else. Some differences are odd but genuine. Apart from the difference the JWS is correct and
/// correctly signed.
package struct JWSFault: Sendable {
    /// A stable name in kebab case, fit for a file name.
    package let name: String
    package let expected: ExpectedAnswer
    /// The answer of a verifier to whom its operator gave the root as a certificate, which stands for every root of its
    /// name and key, and closes chains that leave it out.
    package let expectedBelowOperatorsRoot: ExpectedAnswer
    /// The difference and its significance, in one sentence or two.
    package let explanation: String
    let recipe: Recipe

    init(
        _ name: String, _ expected: ExpectedAnswer, belowOperatorsRoot other: ExpectedAnswer? = nil,
        _ explanation: String, _ recipe: Recipe
    ) {
        self.name = name
        self.expected = expected
        expectedBelowOperatorsRoot = other ?? expected
        self.explanation = explanation
        self.recipe = recipe
    }

    package init?(named name: String) {
        guard let fault = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = fault
    }
}

extension JWSFault {
    /// The step at which the difference is made. All later steps are correct.
    enum Recipe: Sendable {
        case text(@Sendable (JWSForge) -> [UInt8])
        /// The claims, before anything is encoded.
        case claims(@Sendable (inout TransactionContents) -> Void)
        /// A payload of another kind or form, signed as it stands.
        case payload(@Sendable (JWSForge) -> [UInt8])
        /// The certificates, before their authorities sign them. The root stays the pinned root.
        case chain(@Sendable (inout TransactionChain) -> Void)
        /// Other certificates above the genuine leaf's key, the signer's first.
        case certificates(@Sendable (JWSForge) -> [[UInt8]])
        /// The header, before it is encoded.
        case header(@Sendable (inout JOSEHeader, JWSForge) -> Void)
        /// The text of header and payload, before it is signed.
        case beforeSigning(@Sendable (inout ForgedJWS) -> Void)
        /// The finished parts, after signing.
        case afterSigning(@Sendable (inout ForgedJWS) -> Void)
    }
}

extension JWSFault: CaseIterable {
    /// Every fault, in the order of a verifier's work: form, header, chain, signature, claims.
    package static let allCases: [JWSFault] =
        legitimate + legitimateNotifications + form + base64URL + algorithms + parameters + certificateLists + entries
        + leaves + issuers
        + signatures + signatureNumbers + payloads + claims + dates + environments + notifications + appTransactions
}

extension JWSFault {
    /// The kind of evidence that has the difference: a notification, or other signed data.
    var evidenceKind: ForgedEvidenceKind { Self.inNotifications.contains(self) ? .notification : .jws }

    private static let inNotifications = Set(legitimateNotifications + notifications)
}

extension JWSFault: Hashable, CustomStringConvertible {
    /// Compares the names, which are unique.
    package static func == (left: JWSFault, right: JWSFault) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}
