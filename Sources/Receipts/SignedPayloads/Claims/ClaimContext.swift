// SPDX-License-Identifier: Apache-2.0

/// The rules for the claims of a verified JWS: times and environments.
struct ClaimContext: Sendable {
    let verifier: ReceiptVerifier
    let now: Timestamp
    /// False if a transaction may name no app.
    var requiresApp = true

    /// Finds the claims of a payload.
    func claims(of jws: VerifiedJWS) throws(ReceiptError) -> Claims { try Claims(jws.payload, rules(for: jws)) }

    /// Finds the claims of a payload that cannot be read as a whole.
    func readableClaims(of jws: VerifiedJWS) -> Claims { .beforeFault(in: jws.payload, rules(for: jws)) }

    private func rules(for jws: VerifiedJWS) -> Claims.Rules {
        let signsForXcode = jws.chain.environments.contains { !$0.isApples }
        return Claims.Rules(
            acceptsFractions: signsForXcode, limits: verifier.limits, onIgnored: verifier.onIgnoredClaim)
    }

    /// Checks that the chain was valid when the payload was signed, and that this is past.
    func check(_ jws: VerifiedJWS, signedAt date: Timestamp) throws(ReceiptError) {
        try jws.chain.validity.check(at: date, grace: verifier.policy.expiryGrace)
        guard date <= now.advanced(by: verifier.policy.clockSkew) else { throw ReceiptError(.signedDateInFuture) }
    }

    /// Returns the environment of this name, for which the chain must be allowed to sign.
    /// - Parameter name: nil for a payload without the claim, as in 2021: its chain must be allowed to sign for
    ///   production, because it may be taken for that.
    func environment(_ name: String?, of jws: VerifiedJWS) throws(ReceiptError) -> Environment? {
        if let name { return try environment(named: name, of: jws) }
        guard jws.chain.environments.contains(.production) else { throw ReceiptError(.environmentNotAllowed) }
        return nil
    }

    /// Returns the environment of this name, for which the chain must be allowed to sign.
    func environment(named name: String, of jws: VerifiedJWS) throws(ReceiptError) -> Environment {
        guard let environment = Environment(rawValue: name) else { throw ReceiptError(.environmentUnknown) }
        guard jws.chain.environments.contains(environment) else { throw ReceiptError(.environmentNotAllowed) }
        return environment
    }
}
