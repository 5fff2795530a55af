// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The templates of a chain: the same names and extensions for any set of keys, so that a lookalike differs in nothing
/// but its keys.
struct Chain: Sendable {
    var root: CertificateTemplate
    var intermediate: CertificateTemplate
    var leaf: CertificateTemplate

    init(
        keys: KeyRing, root rootRole: KeyRole = .root, intermediate intermediateRole: KeyRole = .intermediate,
        leaf leafRole: KeyRole = .leaf
    ) {
        let rootKey = keys.key(for: rootRole)
        let intermediateKey = keys.key(for: intermediateRole)
        root = .root(key: rootKey)
        intermediate = .intermediate(key: intermediateKey, authority: rootKey)
        leaf = .leaf(key: keys.key(for: leafRole), authority: intermediateKey)
    }
}
