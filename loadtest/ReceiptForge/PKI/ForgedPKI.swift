// SPDX-License-Identifier: Apache-2.0

/// A hierarchy like the hierarchy that signs App Store receipts: root, intermediate and leaf, all RSA-2048, with
/// Apple's two marker extensions. Everything is derived from the seed.
package struct ForgedPKI: Sendable {
    /// The digest of receipts' signatures.
    package let digest: SigningDigest
    /// Leaf, intermediate, root: the order in receipts.
    package let certificates: [IssuedCertificate]
    /// The number that everything is derived from.
    package let seed: UInt64
    let keys: KeyRing

    /// Creates three keys, about a tenth of a second each, and their certificates.
    package init(seed: UInt64, digest: SigningDigest = .sha256) {
        let keys = KeyRing(seed: seed)
        self.seed = seed
        self.digest = digest
        self.keys = keys
        certificates = Chain(keys).certificates
    }

    /// The signer of receipts, with marker 1.2.840.113635.100.6.11.1. Valid 2016 to 2036.
    package var leaf: IssuedCertificate { certificates[0] }

    /// The issuer of leaves, with marker 1.2.840.113635.100.6.2.1. Valid 2015 to 2040.
    package var intermediate: IssuedCertificate { certificates[1] }

    /// The self-signed root, which a verifier must trust. Valid 2014 to 2044.
    package var root: IssuedCertificate { certificates[2] }

    /// The root in PEM, for a file of trusted roots.
    package var rootPEM: String { root.pem }

    /// The leaf's private key as PKCS #8 in PEM (RFC 5958, RFC 7468).
    package var leafKeyPEM: String { keys.key(for: .leaf).pem }
}

extension ForgedPKI {
    /// Signs a receipt: one encoding of the payload and one RSA signature, about a millisecond.
    package func sign(_ contents: ReceiptContents) -> [UInt8] {
        container(signing: contents.payload).encoded
    }

    /// Signs a receipt with certificates that were valid at its creation. Before 2016, other certificates of the same
    /// names and keys were valid; before 2014 there was no root.
    package func signAtCreation(_ contents: ReceiptContents) -> [UInt8] {
        guard contents.creationDate < Self.leafBegins else { return sign(contents) }
        var chain = Chain(keys)
        chain.leaf.validity = .init(UTCDate(2014, 1, 1), Self.leafBegins)
        chain.intermediate.validity = .init(UTCDate(2014, 1, 1), UTCDate(2040, 1, 1))
        return container(signing: contents.payload, certificates: chain.certificates).encoded
    }

    private static let leafBegins = UTCDate(2016, 1, 1)

    /// Returns the container of a genuine receipt, or a container signed with the key of the first of other
    /// `certificates`.
    func container(
        signing payload: [UInt8], by signer: RSAPrivateKey? = nil, certificates: [IssuedCertificate]? = nil,
        digest: SigningDigest? = nil
    ) -> SignedDataTemplate {
        SignedDataTemplate(
            signing: payload, by: signer ?? keys.key(for: .leaf), certificates: certificates ?? self.certificates,
            digest: digest ?? self.digest)
    }
}
