// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

struct ForgedPKITests {
    @Test func `the same seed makes the same receipt from scratch`() {
        let again = ForgedPKI(seed: 1)
        #expect(again.rootPEM == Samples.pki.rootPEM)
        #expect(again.sign(Samples.contents) == Samples.pki.sign(Samples.contents))
    }

    @Test func `another seed makes another root`() {
        #expect(ForgedPKI(seed: 2).root.der != Samples.pki.root.der)
    }

    /// Compares with a recorded value, which differs if anything depends on the process, the machine or the compiler.
    @Test func `the leaf key of seed 1 is the one it always was`() {
        let pem = Samples.pki.leafKeyPEM
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(Fingerprint.of(Array(pem.utf8)) == "ebf450471d8d4921")
    }

    @Test(arguments: [SigningDigest.sha1, .sha256])
    func `OpenSSL verifies a genuine receipt at its creation date`(digest: SigningDigest) throws {
        let pki = ForgedPKI(seed: 1, digest: digest)
        let verifier = OpenSSLVerifier(root: pki.root, moment: Samples.date)
        let content = try #require(verifier.signedContent(of: pki.sign(Samples.contents)))
        #expect(content.first == 0x31)
    }

    @Test func `OpenSSL refuses a receipt under another root`() {
        let verifier = OpenSSLVerifier(root: ForgedPKI(seed: 2).root, moment: Samples.date)
        #expect(verifier.signedContent(of: Samples.pki.sign(Samples.contents)) == nil)
    }

    @Test func `OpenSSL refuses a receipt outside the validity of its leaf`() {
        let verifier = OpenSSLVerifier(root: Samples.pki.root, moment: UTCDate(2038, 1, 1))
        #expect(verifier.signedContent(of: Samples.pki.sign(Samples.contents)) == nil)
    }

    @Test func `a receipt is as large as a genuine one`() {
        let one = Samples.pki.sign(Samples.contents).count
        var contents = Samples.contents
        contents.purchases += contents.purchases
        let perPurchase = Samples.pki.sign(contents).count - one
        #expect((4_500...5_300).contains(one))
        #expect((360...440).contains(perPurchase))
    }

    @Test func `OpenSSL verifies a receipt in Xcode's BER`() throws {
        let verifier = OpenSSLVerifier(root: Samples.xcode.certificate, moment: Samples.date)
        let receipt = Samples.xcode.signLikeXcode(Samples.contents)
        #expect(receipt.starts(with: [0x30, 0x80]) && receipt.suffix(6).allSatisfy { $0 == 0 })
        #expect(verifier.signedContent(of: receipt) != nil)
    }
}
