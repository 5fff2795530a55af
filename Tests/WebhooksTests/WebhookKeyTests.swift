// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing

@testable import Customers

struct WebhookKeyTests {
    /// The example of the Standard Webhooks reference libraries.
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    /// The seed of the bytes 0 to 31, and its signature of the same message by another implementation.
    private static let seed = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let seedAndPublicKey =
        "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA=="
    private static let asymmetricSignature =
        "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+r4iaBGxTFRrl2iBQxtDQ=="

    private func signature(_ keys: String...) throws -> String? {
        let signer = WebhookSigner(try keys.map { try WebhookKey($0) })
        return signer.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
    }

    // MARK: - Signatures

    @Test func `the signature of the reference libraries comes out`() throws {
        #expect(try signature(Self.secret) == Self.signature)
    }

    @Test func `an asymmetric key signs, with or without its public key`() throws {
        #expect(try signature(Self.seed) == Self.asymmetricSignature)
        #expect(try signature(Self.seedAndPublicKey) == Self.asymmetricSignature)
    }

    @Test func `all keys sign, so that receivers may change theirs at any time`() throws {
        #expect(try signature(Self.seed, Self.secret) == "\(Self.asymmetricSignature) \(Self.signature)")
    }

    @Test func `without keys there is no signature`() throws {
        #expect(try signature() == nil)
    }

    // MARK: - Reading keys

    @Test func `the line end of a file is no part of a key`() throws {
        #expect(try WebhookKey(Self.secret + "\n") == .symmetric(Secret(Self.secret)))
        #expect(try WebhookKey(" \t\(Self.seed)\r\n") == .asymmetric(Secret(Self.seed)))
    }

    @Test func `an asymmetric key shows its public key`() throws {
        #expect(try WebhookKey(Self.seed).publicKey == "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=")
        #expect(try WebhookKey(Self.secret).publicKey == nil)
    }

    @Test(arguments: [24, 64]) func `symmetric keys of the shortest and the longest length are read`(count: Int) throws
    {
        #expect(throws: Never.self) { try WebhookKey(text("whsec_", count)) }
    }

    @Test(
        arguments: [
            ("", .prefix), ("c2VjcmV0", .prefix), ("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", .prefix),
            ("whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=", .publicKey),
            (text("whsec_", 23), .symmetricLength(23)), (text("whsec_", 65), .symmetricLength(65)),
            (text("whsk_", 31), .asymmetricLength(31)), (text("whsk_", 33), .asymmetricLength(33)),
            (text("whsk_", 65), .asymmetricLength(65)), (text("whsk_", 64), .mismatch),
        ] as [(String, WebhookKeyFault)])
    func `a text that is no key is rejected with its fault`(text: String, fault: WebhookKeyFault) {
        #expect(throws: fault) { try WebhookKey(text) }
    }

    @Test(arguments: ["whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa*w"])
    func `faults of base64 are reported without a character of the key`(text: String) {
        let fault = #expect(throws: WebhookKeyFault.self) { try WebhookKey(text) }
        guard case .base64 = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(fault.map { "\($0)" }?.contains("MfKQ") == false)
    }
}

/// Returns a key of zeroes, of this number of bytes.
private func text(_ prefix: String, _ count: Int) -> String {
    prefix + String(repeating: "A", count: (count * 8 + 5) / 6) + String(repeating: "=", count: (3 - count % 3) % 3)
}
