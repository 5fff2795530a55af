// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A hierarchy like the one that signs App Store receipts: root, intermediate and leaf, all RSA-2048, with Apple's two
/// marker extensions. Everything is derived from the seed.
public struct ForgedPKI: Sendable {
    /// The digest of receipts' signatures.
    public let digest: DigestAlgorithm
    /// Leaf, intermediate, root: the order in receipts.
    public let certificates: [Certificate]
    let keys: KeyRing

    /// Creates three keys, about a tenth of a second each, and their certificates.
    public init(seed: UInt64, digest: DigestAlgorithm = .sha256) {
        let keys = KeyRing(seed: seed)
        self.digest = digest
        self.keys = keys
        certificates = Chain(keys: keys).certificates(signedWith: keys)
    }

    /// The signer of receipts, with marker 1.2.840.113635.100.6.11.1. Valid 2016 to 2036.
    public var leaf: Certificate { certificates[0] }

    /// The issuer of leaves, with marker 1.2.840.113635.100.6.2.1. Valid 2015 to 2040.
    public var intermediate: Certificate { certificates[1] }

    /// The self-signed root, which a verifier must trust. Valid 2014 to 2044.
    public var root: Certificate { certificates[2] }

    /// The root in PEM, for a file of trusted roots.
    public var rootPEM: String { root.pem }
}

extension ForgedPKI {
    /// The owner of a private key.
    public enum Holder: Sendable, Hashable, CaseIterable {
        /// The root authority.
        case root
        /// The authority that issues leaves.
        case intermediate
        /// The signer of receipts.
        case leaf
    }

    /// Returns a private key as PKCS #8 in PEM (RFC 5958, RFC 7468).
    public func privateKeyPEM(of holder: Holder) -> String {
        let role: KeyRole =
            switch holder {
            case .root: .root
            case .intermediate: .intermediate
            case .leaf: .leaf
            }
        return PEM.text(keys.key(for: role).privateKeyInfo.encoded, label: "PRIVATE KEY")
    }
}
