// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The evidence that a client would send.
public enum ForgedEvidence: Sendable, Hashable {
    /// A receipt, correctly encoded or not.
    case der([UInt8])
    /// A text in place of base64.
    case text(String)

    /// The text of the request field.
    public var base64: String {
        switch self {
        case .der(let bytes): Base64.text(bytes)
        case .text(let text): text
        }
    }
}
