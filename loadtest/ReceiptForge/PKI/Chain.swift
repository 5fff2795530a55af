// SPDX-License-Identifier: Apache-2.0

/// The templates of a chain: the same names and extensions for any keys, so that a lookalike differs only in its keys.
package struct Chain: Sendable {
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
    func certificates(signedWith keys: KeyRing) -> [IssuedCertificate] {
        [
            leaf.signed(by: keys.key(for: roles.intermediate)),
            intermediate.signed(by: keys.key(for: roles.root)),
            root.signed(by: keys.key(for: roles.root)),
        ]
    }
}

/// The three certificates of a genuine receipt, extension by extension in their genuine order.
extension CertificateTemplate {
    static func root(key: some PrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: [2], issuer: TestNames.root, subject: TestNames.root,
            validity: Validity(UTCDate(2014, 1, 1), UTCDate(2044, 1, 1)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .keyUsage([.keyCertSign, .cRLSign]),
                .certificateAuthority(),
                .subjectKeyIdentifier(key.keyIdentifier),
                .authorityKeyIdentifier(key.keyIdentifier),
                .policy(statement: TestNames.policyStatement, notice: TestNames.policyNotice),
            ])
    }

    static func intermediate(key: some PrivateKey, authority: some PrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: Array("Forge Test Authority".utf8), issuer: TestNames.root, subject: TestNames.intermediate,
            validity: Validity(UTCDate(2015, 1, 1), UTCDate(2040, 1, 1)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .certificateAuthority(pathLength: 0),
                .authorityKeyIdentifier(authority.keyIdentifier),
                .authorityInfoAccess(ocsp: TestNames.ocspAddress),
                .revocationList(at: TestNames.revocationAddress),
                .subjectKeyIdentifier(key.keyIdentifier),
                .keyUsage([.keyCertSign, .cRLSign]),
                .marker(.worldwideDeveloperRelationsMarker),
            ])
    }

    static func leaf(key: some PrivateKey, authority: some PrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: Array("Forge Test Leaf!".utf8), issuer: TestNames.intermediate, subject: TestNames.leaf,
            validity: Validity(UTCDate(2016, 1, 1), UTCDate(2036, 12, 31)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .endEntity,
                .authorityKeyIdentifier(authority.keyIdentifier),
                .authorityInfoAccess(caIssuers: TestNames.issuerAddress, ocsp: TestNames.ocspAddress),
                .policy(statement: TestNames.policyStatement, notice: TestNames.policyNotice),
                .revocationList(at: TestNames.revocationAddress),
                .subjectKeyIdentifier(key.keyIdentifier),
                .keyUsage(.digitalSignature),
                .marker(.receiptSigningMarker),
            ])
    }
}
