// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension ForgedPKI {
    /// Signs a receipt: one encoding of the payload and one RSA signature, about a millisecond.
    public func sign(_ contents: ReceiptContents) -> [UInt8] {
        container(signing: contents.payload).encoded
    }

    /// Returns the container of a genuine receipt, for edits.
    func container(signing payload: [UInt8]) -> SignedData {
        container(signing: payload, by: .leaf, certificates: certificates, digest: digest)
    }

    /// Returns a container signed with the key of the first of `certificates`.
    func container(
        signing payload: [UInt8], by signer: KeyRole, certificates: [Certificate], digest: DigestAlgorithm
    ) -> SignedData {
        SignedData(
            digestAlgorithms: [AlgorithmIdentifier(digest.objectIdentifier)],
            encapsulatedContentInfo: EncapsulatedContentInfo(eContent: .octetString(payload)),
            certificates: certificates,
            signerInfos: [signerInfo(signing: payload, by: signer, certificate: certificates[0], digest: digest)])
    }

    /// Signs `message` directly, as in RFC 5652 §5.4 without signed attributes.
    func signerInfo(
        signing message: [UInt8], by signer: KeyRole, certificate: Certificate, digest: DigestAlgorithm
    ) -> SignerInfo {
        SignerInfo(
            signerIdentifier: certificate.issuerAndSerialNumber,
            digestAlgorithm: AlgorithmIdentifier(digest.objectIdentifier),
            signature: keys.key(for: signer).signature(over: message, digest: digest))
    }
}
