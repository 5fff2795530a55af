// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer

/// The name that a client gives to a request, from the header field `Idempotency-Key`, so that a repeated request does
/// not create another job.
struct IdempotencyKey: Hashable, Sendable {
    enum Limits {
        static let characters = 1...255
    }

    static let fieldName = "Idempotency-Key"

    let text: String

    /// Returns nil for a request without the field.
    /// - Parameter fields: the values of all lines.
    init?(_ fields: [String]) throws(Problem) {
        guard let text = fields.first else { return nil }
        let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard fields.count == 1, isVisible, Limits.characters.contains(text.utf8.count) else {
            throw .invalidIdempotencyKey
        }
        self.text = text
    }
}
