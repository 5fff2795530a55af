// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The templates of a chain: the same names and extensions for any keys, so that a lookalike differs only in its keys.
struct Chain: Sendable {
    /// The keys of the three certificates.
    struct Roles: Sendable {
        var root = KeyRole.root
        var intermediate = KeyRole.intermediate
        var leaf = KeyRole.leaf

        static let attacker = Roles(root: .attackerRoot, intermediate: .attackerIntermediate, leaf: .attackerLeaf)
    }

    let roles: Roles
    var root: CertificateTemplate
    var intermediate: CertificateTemplate
    var leaf: CertificateTemplate

    init(keys: KeyRing, roles: Roles = Roles()) {
        let rootKey = keys.key(for: roles.root)
        let intermediateKey = keys.key(for: roles.intermediate)
        self.roles = roles
        root = .root(key: rootKey)
        intermediate = .intermediate(key: intermediateKey, authority: rootKey)
        leaf = .leaf(key: keys.key(for: roles.leaf), authority: intermediateKey)
    }

    /// Returns leaf, intermediate, root: the order in receipts.
    func certificates(signedWith keys: KeyRing) -> [Certificate] {
        [
            leaf.signed(by: keys.key(for: roles.intermediate)),
            intermediate.signed(by: keys.key(for: roles.root)),
            root.signed(by: keys.key(for: roles.root)),
        ]
    }
}
