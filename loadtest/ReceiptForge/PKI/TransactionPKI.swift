// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A hierarchy like the hierarchy that signs the App Store's transactions: root and intermediate with P-384 keys, the
/// leaf with a P-256 key, and Apple's two marker extensions.
///
/// The keys are derived from the seed. The certificates are not, because no two ECDSA signatures are alike.
package struct TransactionPKI: Sendable {
    /// Leaf, intermediate, root: the order of an `x5c` (RFC 7515 §4.1.6).
    package let certificates: [IssuedCertificate]
    let rootKey: ECPrivateKey
    let intermediateKey: ECPrivateKey
    let leafKey: ECPrivateKey
    /// The first part of every JWS, encoded once: signing must be fast.
    private let header: [UInt8]

    /// - Parameter root: the root in an earlier copy of the same authority, in DER; nil for a new copy.
    package init(seed: UInt64, root: [UInt8]? = nil) {
        rootKey = ECPrivateKey(.p384, seed: seed, purpose: "transaction root")
        intermediateKey = ECPrivateKey(.p384, seed: seed, purpose: "transaction intermediate")
        leafKey = ECPrivateKey(.p256, seed: seed, purpose: "transaction leaf")
        var certificates = Chain(root: rootKey, intermediate: intermediateKey, leaf: leafKey, digest: .sha384)
            .certificates
        if let root { certificates[2].der = root }
        self.certificates = certificates
        header = Base64URLText.encode(JOSEHeader(certificates: certificates.map(\.der)).json)
    }

    /// The self-signed root, which a verifier must trust. Valid 2014 to 2044.
    package var root: IssuedCertificate { certificates[2] }

    /// Signs as in a JWS: ES256, r ‖ s of 64 bytes (RFC 7518 §3.4).
    package func sign(_ message: [UInt8]) -> [UInt8] {
        leafKey.signES256(message)
    }
}

extension TransactionPKI {
    /// Signs a payload as Apple does, and returns the JWS in compact serialization. Takes one ECDSA signature.
    package func jws(_ payload: [UInt8]) -> [UInt8] {
        var text = header
        text.append(UInt8(ascii: "."))
        Base64.append(encodingURL: payload, to: &text)
        let signature = sign(text)
        text.append(UInt8(ascii: "."))
        Base64.append(encodingURL: signature, to: &text)
        return text
    }

    package func jws(_ contents: some SignedContents) -> [UInt8] {
        jws(contents.payload)
    }
}
