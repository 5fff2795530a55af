// SPDX-License-Identifier: Apache-2.0

@testable import Receipts

extension CertificateChain {
    /// Verifies a list of certificates, the signer's first, without a container.
    init(
        x5c certificates: [[UInt8]], for algorithm: SignatureAlgorithm = .es256, trustStore: TrustStore,
        verified: VerifiedCertificates = VerifiedCertificates()
    ) throws(ReceiptError) {
        let bytes = certificates.flatMap(\.self)
        let list = SignerCertificates(bytes.span, at: certificates.rangesWhenJoined, signer: .first)
        self = try CertificateChain(
            list, for: SignerPurpose(algorithm: algorithm), trustStore: trustStore, verified: verified)
    }

    /// Returns the broken rule; nil if there is a chain.
    static func brokenRule(
        x5c certificates: [[UInt8]], for algorithm: SignatureAlgorithm = .es256, trustStore: TrustStore
    ) -> Rule? {
        do throws(ReceiptError) {
            _ = try CertificateChain(x5c: certificates, for: algorithm, trustStore: trustStore)
            return nil
        } catch {
            return error.rule
        }
    }
}

extension PublicKey {
    /// Verifies arrays: the macros of tests take no spans.
    func verifies(
        _ signature: [UInt8], over content: [UInt8], _ algorithm: SignatureAlgorithm
    ) throws(ReceiptError) -> Bool {
        try verifies(signature.span, over: content.span, algorithm)
    }
}

extension [[UInt8]] {
    /// The range of each array once all are joined.
    var rangesWhenJoined: [Range<Int>] {
        var end = 0
        return map { part in
            defer { end += part.count }
            return end..<end + part.count
        }
    }
}
