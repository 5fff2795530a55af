// SPDX-License-Identifier: Apache-2.0

/// The templates of a chain: the same names and extensions for any keys, so that a lookalike differs only in its keys.
struct Chain<Key: PrivateKey>: Sendable {
    /// The keys of the three certificates.
    let keys: (root: Key, intermediate: Key, leaf: Key)
    var root: CertificateTemplate
    var intermediate: CertificateTemplate
    var leaf: CertificateTemplate

    /// - Parameter digest: the digest of the authorities' signatures.
    init(root: Key, intermediate: Key, leaf: Key, digest: SigningDigest = .sha256) {
        keys = (root, intermediate, leaf)
        self.root = .root(key: root)
        self.intermediate = .intermediate(key: intermediate, authority: root)
        self.leaf = .leaf(key: leaf, authority: intermediate)
        (self.root.digest, self.intermediate.digest, self.leaf.digest) = (digest, digest, digest)
    }

    /// Leaf, intermediate, root: the order in receipts.
    var certificates: [IssuedCertificate] {
        [leaf.signed(by: keys.intermediate), intermediate.signed(by: keys.root), root.signed(by: keys.root)]
    }
}

extension Chain<RSAPrivateKey> {
    init(_ ring: KeyRing, leaf: KeyRole = .leaf) {
        self.init(root: ring.key(for: .root), intermediate: ring.key(for: .intermediate), leaf: ring.key(for: leaf))
    }

    /// A chain with the genuine names and an attacker's keys.
    static func lookalike(_ ring: KeyRing) -> Self {
        Self(
            root: ring.key(for: .attackerRoot), intermediate: ring.key(for: .attackerIntermediate),
            leaf: ring.key(for: .attackerLeaf))
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
