// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What a verifier must answer that trusts the forged root for the environment Sandbox and nothing else.
public enum ExpectedAnswer: Sendable, Hashable {
    /// The receipt is fine, however odd it looks.
    case genuine
    /// The receipt is refused because of exactly this rule.
    case rejected(Rule)
    /// The text is not base64; there is nothing to give a verdict on.
    case badRequest(Base64Error.Fault)

    /// `genuine`, `rejected` or `bad_request`.
    public var verdict: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .badRequest: "bad_request"
        }
    }

    /// The name of what is broken, if anything is.
    public var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rule): rule.rawValue
        case .badRequest(let fault): fault.rawValue
        }
    }
}
