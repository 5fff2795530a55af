// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// The answer of a verifier that trusts the forged root for the environment Sandbox, and nothing else.
public enum ExpectedAnswer: Sendable, Hashable {
    /// The receipt is valid, however odd it looks.
    case genuine
    /// The receipt is rejected because of exactly this rule.
    case rejected(Rule)
    /// The text is not base64, so there is no verdict.
    case badRequest(Base64Error.Fault)

    /// `genuine`, `rejected` or `bad_request`.
    public var verdict: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .badRequest: "bad_request"
        }
    }

    /// The name of the broken rule or of the base64 fault; nil if genuine.
    public var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rule): rule.rawValue
        case .badRequest(let fault): fault.rawValue
        }
    }
}
