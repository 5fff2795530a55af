// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import ReceiptForge

/// Tests RFC 8017 §8.2.2: one key, one message, one signature.
struct SignatureTests {
    @Test(arguments: [SigningDigest.sha1, .sha256])
    func `a signature is as long as its key, also where it begins with zero`(digest: SigningDigest) throws {
        var container = try Self.containerWhoseSignatureBeginsWithZero(digest)
        let verifier = try ReceiptVerifier.trustingSamples()
        #expect(verifier.brokenRule(of: container.encoded) == nil)
        container.signerInfos[0].signature.removeFirst()
        #expect(verifier.brokenRule(of: container.encoded) == .signatureInvalid)
        container.signerInfos[0].signature.insert(contentsOf: [0, 0], at: 0)
        #expect(verifier.brokenRule(of: container.encoded) == .signatureInvalid)
    }

    @Test func `a digest is signed together with its name`() throws {
        let key = Samples.pki.keys.key(for: .leaf)
        var container = Samples.pki.container(signing: Samples.contents.payload)
        container.digestAlgorithms = [AlgorithmIdentifier(.sha1)]
        container.signerInfos[0].digestAlgorithm = AlgorithmIdentifier(.sha1)
        container.signerInfos[0].signature = key.signature(over: Samples.contents.payload, digest: .sha256)
        #expect(try ReceiptVerifier.trustingSamples().brokenRule(of: container.encoded) == .signatureInvalid)
        container.signerInfos[0].signature = key.signature(over: Samples.contents.payload, digest: .sha1)
        #expect(try ReceiptVerifier.trustingSamples().brokenRule(of: container.encoded) == nil)
    }

    @Test(
        arguments: [
            (.sha384, .rsaEncryption, .digestAlgorithmUnsupported),
            (.sha384, .sha384WithRSAEncryption, .digestAlgorithmUnsupported),
            (.sha256, .sha384WithRSAEncryption, .signatureAlgorithmUnsupported),
            (.sha256, .ecdsaWithSHA256, .signatureAlgorithmUnsupported),
            (.sha256, .ecdsaWithSHA384, .signatureAlgorithmUnsupported),
        ] as [(SigningDigest, OID, Rule)])
    func `receipts are not signed like the certificates of transactions`(
        digest: SigningDigest, algorithm: OID, broken: Rule
    ) throws {
        var container = Samples.pki.container(
            signing: Samples.contents.payload, certificates: Samples.pki.certificates, digest: digest)
        container.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(algorithm)
        #expect(try ReceiptVerifier.trustingSamples().brokenRule(of: container.encoded) == broken)
    }

    /// Searches for such a container: one signature in 256 begins with zero.
    private static func containerWhoseSignatureBeginsWithZero(_ digest: SigningDigest) throws -> SignedDataTemplate {
        var contents = Samples.contents
        for number in 0..<20_000 {
            contents.applicationVersion = String(number)
            let container = Samples.pki.container(
                signing: contents.payload, certificates: Samples.pki.certificates, digest: digest)
            if container.signerInfos[0].signature.first == 0 { return container }
        }
        throw NoSuchSignature()
    }

    private struct NoSuchSignature: Error {}

    @Test func `OpenSSL offers what receipts need here`() {
        #expect(throws: Never.self) { try ReceiptVerifier.checkOpenSSL() }
    }
}
