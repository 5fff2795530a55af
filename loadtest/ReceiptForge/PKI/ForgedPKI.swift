// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A hierarchy shaped like the one that signs App Store receipts: root, intermediate and leaf, all RSA-2048, with
/// Apple's two marker extensions in their places. Everything follows from the seed.
public struct ForgedPKI: Sendable {
    /// The digest receipts are signed with.
    public let digest: DigestAlgorithm
    /// Leaf, intermediate, root: the order in which receipts list them.
    public let certificates: [Certificate]
    let keys: KeyRing

    /// Makes three keys, about a tenth of a second each, and their certificates.
    public init(seed: UInt64, digest: DigestAlgorithm = .sha256) {
        let keys = KeyRing(seed: seed)
        self.digest = digest
        self.keys = keys
        certificates = Chain(keys: keys).certificates(signedWith: keys)
    }

    /// Signs receipts; carries marker 1.2.840.113635.100.6.11.1. Valid 2016 to 2036.
    public var leaf: Certificate { certificates[0] }

    /// Carries marker 1.2.840.113635.100.6.2.1. Valid 2015 to 2040.
    public var intermediate: Certificate { certificates[1] }

    /// Self-signed; what a verifier must be told to trust. Valid 2014 to 2044.
    public var root: Certificate { certificates[2] }

    /// The root as text, for a file of trusted roots.
    public var rootPEM: String { root.pem }
}

extension ForgedPKI {
    /// Whose private key.
    public enum Holder: Sendable, Hashable, CaseIterable {
        /// The authority everything hangs from.
        case root
        /// The authority that issues leaves.
        case intermediate
        /// The signer of receipts.
        case leaf
    }

    /// A private key as PKCS #8 text (RFC 5958, RFC 7468).
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
