// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension HTTPField.Name {
    /// `Cache-Status` (RFC 9211).
    package static let cacheStatus = known("Cache-Status")
    /// `Gateway-Source`: the source of an answer to `POST /verifyReceipt`, `apple` or `local`.
    package static let gatewaySource = known("Gateway-Source")
    /// `Gateway-Degraded`: the reason why Apple's answer is missing.
    package static let gatewayDegraded = known("Gateway-Degraded")
    /// `Gateway-Reason`: the part that Apple's status does not tell, such as the rule a receipt breaks.
    package static let gatewayReason = known("Gateway-Reason")
    /// `Deprecation` (RFC 9745).
    static let deprecation = known("Deprecation")
    /// `Link` (RFC 8288).
    static let link = known("Link")
    /// `Sunset` (RFC 8594).
    static let sunset = known("Sunset")

    /// `Referrer-Policy`.
    package static let referrerPolicy = known("Referrer-Policy")

    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    static let rateLimitPolicy = known("RateLimit-Policy")
    static let rateLimit = known("RateLimit")
    /// The three fields that were common before those.
    static let xRateLimitLimit = known("X-RateLimit-Limit")
    static let xRateLimitRemaining = known("X-RateLimit-Remaining")
    static let xRateLimitReset = known("X-RateLimit-Reset")

    private static func known(_ name: String) -> HTTPField.Name {
        guard let fieldName = HTTPField.Name(name) else { preconditionFailure("\(name) is no field name") }
        return fieldName
    }
}
