// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY DEFINED BY algorithm OPTIONAL }`
/// (RFC 5280 §4.1.1.2)
struct AlgorithmIdentifier: Sendable, Hashable {
    var algorithm: ObjectIdentifier
    /// NULL in every genuine receipt; RFC 5754 §2 also allows digests to omit it.
    var parameters: DERElement?

    init(_ algorithm: ObjectIdentifier, parameters: DERElement? = .null) {
        self.algorithm = algorithm
        self.parameters = parameters
    }

    var element: DERElement {
        .sequence(of: [algorithm.element] + (parameters.map { [$0] } ?? []))
    }
}
