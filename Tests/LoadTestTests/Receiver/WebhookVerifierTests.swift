// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// The receiver's own check of Standard Webhooks' signatures.
struct WebhookVerifierTests {
    /// The example of the specification.
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp = "1614265330"
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    /// Made by Python's `cryptography` from the seed 0, 1, … 31.
    private static let publicKey = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
    private static let asymmetricSignature =
        "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+r4iaBGxTFRrl2iBQxtDQ=="

    private func accepts(
        _ key: String, _ signatures: String, id: String = id, timestamp: String = timestamp, body: [UInt8] = body
    ) throws -> Bool {
        try #require(WebhookVerifier(key)).accepts(signatures, id: id, timestamp: timestamp, body: body)
    }

    @Test(arguments: [(secret, signature), (publicKey, asymmetricSignature)])
    func `a signature is valid for its ID, time and body only`(key: String, signature: String) throws {
        #expect(try accepts(key, signature))
        #expect(try !accepts(key, signature, id: Self.id + "x"))
        #expect(try !accepts(key, signature, timestamp: "1614265331"))
        #expect(try !accepts(key, signature, body: Self.body + [0x20]))
    }

    @Test func `during a rotation one of the signatures suffices`() throws {
        let both = Self.signature + " " + Self.asymmetricSignature
        #expect(try accepts(Self.secret, both) && accepts(Self.publicKey, both))
        #expect(try accepts(Self.secret, "v1,AAAA " + Self.signature))
    }

    @Test(arguments: ["", "v1", "v1,", "v1,%%%", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="])
    func `another version or text is no signature`(signature: String) throws {
        #expect(try !accepts(Self.secret, signature))
    }

    @Test func `a signature of one kind does not count as the other`() throws {
        let symmetric = Self.signature.replacing("v1,", with: "v1a,")
        #expect(try !accepts(Self.secret, symmetric) && !accepts(Self.publicKey, symmetric))
    }

    @Test(arguments: ["", "whsec_", "whsec_AAAA", "whpk_AAAA", "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%"])
    func `what is no key of a receiver is refused`(text: String) {
        #expect(WebhookVerifier(text) == nil)
    }
}
