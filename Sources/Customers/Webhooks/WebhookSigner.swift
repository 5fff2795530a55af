// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Receipts

/// The keys of an endpoint, ready to sign (Standard Webhooks, "Signature scheme").
struct WebhookSigner: Sendable {
    private let keys: [WebhookKey.SigningKey]

    init(_ keys: [WebhookKey]) {
        self.keys = keys.map { key in
            guard let key = try? key.signingKey() else { preconditionFailure("the text of a key is checked before") }
            return key
        }
    }

    /// Returns the value of `webhook-signature`: the signatures by all keys, so that receivers may change theirs at any
    /// time; nil without keys.
    /// - Parameter timestamp: the seconds since 1970 in `webhook-timestamp`.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String? {
        guard !keys.isEmpty else { return nil }
        let content = Array("\(id).\(timestamp).".utf8) + body
        return keys.map { key in
            switch key {
            case .hmac(let key): "v1," + Base64.text(key.code(for: content.span))
            case .ed25519(let key): "v1a," + Base64.text(key.signature(over: content))
            }
        }.joined(separator: " ")
    }
}
