// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// The version and the device that a client expects of signed items.
struct InstallationTests {
    private typealias Samples = SignedSamples

    /// 00112233-4455-6677-8899-aabbccddeeff.
    private static let device: [UInt8] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
    ]
    private static let nonce = "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a00"
    /// Made with OpenSSL: SHA-384 of the nonce and the device's UUID in lower case, in base64.
    private static let verification = "axc9NxzOjXH5wkgdh3Xc5DznsbwlDaJ98GQmAm8Vp2rlnAy4WwGtMtnsy3FpCYgt"

    private static let transaction = Samples.transaction()
    private static let boundTransaction = Samples.transaction { contents in
        (contents.deviceVerification, contents.deviceVerificationNonce) = (verification, nonce)
    }

    private static func app(
        _ value: String? = verification, nonce: String? = nonce, version: String? = "42"
    ) -> [UInt8] {
        Samples.appTransaction { contents in
            (contents.deviceVerification, contents.deviceVerificationNonce) = (value, nonce)
            contents.applicationVersion = version
        }
    }

    @Test(
        arguments: [
            (nil, .appVersionMismatch), (app(version: "42"), nil), (app(version: "43"), .appVersionMismatch),
            (app(version: "042"), .appVersionMismatch), (app(version: nil), .appVersionMismatch),
        ] as [([UInt8]?, Rule?)])
    func `only an app transaction proves the app's version`(app: [UInt8]?, rule: Rule?) async throws {
        let request = VerificationRequest([Self.transaction], appTransaction: app)
        try await Self.expect(rule, of: request, expecting: Expectations(applicationVersion: "42"))
    }

    @Test(
        arguments: [
            // Copies from Apple's servers name no device, and neither do these.
            (transaction, nil, .deviceHashMismatch), (transaction, app(nil), .deviceHashMismatch),
            (transaction, app(nonce: nil), .deviceHashMismatch),
            (transaction, app(), nil), (boundTransaction, nil, nil), (boundTransaction, app(), nil),
            // The nonce is hashed in lower case.
            (transaction, app(nonce: "5E3B9C2E-6A8D-4F0B-9D55-6F4A3C2B1A00"), nil),
            (transaction, app(nonce: "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a01"), .deviceHashMismatch),
            // One item of another device is enough.
            (boundTransaction, app(nonce: "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a01"), .deviceHashMismatch),
        ] as [([UInt8], [UInt8]?, Rule?)])
    func `the items prove the device together`(transaction: [UInt8], app: [UInt8]?, rule: Rule?) async throws {
        let request = VerificationRequest([transaction], appTransaction: app)
        try await Self.expect(rule, of: request, expecting: Expectations(deviceIdentifier: Self.device))
    }

    @Test(arguments: [[], Array(device.dropLast()), device + [0], Array(device.reversed())] as [[UInt8]])
    func `another device identifier does not match`(identifier: [UInt8]) async throws {
        let request = VerificationRequest([Self.boundTransaction], appTransaction: Self.app())
        try await Self.expect(
            .deviceHashMismatch, of: request, expecting: Expectations(deviceIdentifier: identifier))
    }

    private static func expect(
        _ rule: Rule?, of request: VerificationRequest, expecting expectations: Expectations
    ) async throws {
        let request = request.with { $0.expectations = expectations }
        let answer = try await VerificationService(verifier: CurrentVerifier(Samples.verifier)).verify(
            request, at: Samples.time(10))
        #expect(answer.verdict == rule.map { .rejected(.rule($0)) } ?? .genuine)
        #expect(answer.transactions.isEmpty == (rule != nil))
        // Not repeated: only a client that may use the app may learn this.
        if rule != nil { #expect(answer.freshUntil == Samples.time(10)) }
    }
}
