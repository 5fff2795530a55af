// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The rules for the claims of a verified JWS: times and environments.
struct ClaimContext: Sendable {
    let now: Timestamp
    let policy: VerificationPolicy
    let limits: Limits
    let onIgnored: @Sendable (String) -> Void
    /// False if a transaction may name no app.
    var requiresApp = true

    /// - Parameter acceptsAnyNumber: true to read more claims than allowed, and names that appear twice.
    @_lifetime(borrow jws)
    func claims(of jws: borrowing VerifiedJWS, acceptsAnyNumber: Bool = false) throws(ReceiptError) -> ClaimReader {
        let signsForXcode = jws.chain.environments.contains { !$0.isApples }
        return try ClaimReader(
            jws.payload.span, acceptsFractions: signsForXcode, limits: limits, acceptsAnyNumber: acceptsAnyNumber,
            onIgnored: onIgnored)
    }

    /// Checks that the chain was valid when the payload was signed, and that this is past.
    func check(_ jws: VerifiedJWS, signedAt date: Timestamp) throws(ReceiptError) {
        try jws.chain.validity.check(at: date, grace: policy.expiryGrace)
        guard date <= now.advanced(by: policy.clockSkew) else { throw ReceiptError(.signedDateInFuture) }
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
