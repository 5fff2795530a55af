// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A hierarchy shaped like the one that signs App Store receipts: root, intermediate and leaf, all RSA-2048, with
/// Apple's two marker extensions in their places. Everything follows from the seed.
public struct ForgedPKI: Sendable {
    /// The digest receipts are signed with.
    public let digest: DigestAlgorithm
    /// Self-signed; what a verifier must be told to trust. Valid 2014 to 2044.
    public let root: Certificate
    /// Carries marker 1.2.840.113635.100.6.2.1. Valid 2015 to 2040.
    public let intermediate: Certificate
    /// Signs receipts; carries marker 1.2.840.113635.100.6.11.1. Valid 2016 to 2036.
    public let leaf: Certificate
    let keys: KeyRing

    /// Makes three keys (a fraction of a second each) and their certificates.
    public init(seed: UInt64, digest: DigestAlgorithm = .sha256) {
        let keys = KeyRing(seed: seed)
        let chain = Chain(keys: keys)
        self.keys = keys
        self.digest = digest
        root = chain.root.signed(by: keys.key(for: .root))
        intermediate = chain.intermediate.signed(by: keys.key(for: .root))
        leaf = chain.leaf.signed(by: keys.key(for: .intermediate))
    }

    /// The root as text, for a file of trusted roots.
    public var rootPEM: String { root.pem }

    /// Leaf, intermediate, root: the order in which receipts list them.
    public var certificates: [Certificate] { [leaf, intermediate, root] }

    /// The templates the chain was made from, to be edited and signed again.
    var chain: Chain { Chain(keys: keys) }
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
