// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests a receipt against the caller's expectations: the app, the version, the device.
struct ExpectationTests {
    private static let verifier = ForgedReceiptTests.verifier

    @Test func `the bundle ID must be the same, byte by byte`() throws {
        let receipt = try Self.verified(Samples.receipt)
        try receipt.check(bundleID: "com.example.forge")
        #expect(receipt.isIssued(forBundleID: "com.example.forge"))
        for other in ["", "com.example.forg", "com.example.forge.", "com.example.Forge", "com.example.forge\0"] {
            #expect(throws: ReceiptError(.bundleIDMismatch)) { try receipt.check(bundleID: other) }
            #expect(!receipt.isIssued(forBundleID: other))
        }
    }

    @Test func `equivalent Unicode is not the same bundle ID`() throws {
        let receipt = try Self.verified(Samples.forge.receipt { $0.bundleID = "com.example.caf\u{E9}" })
        try receipt.check(bundleID: "com.example.caf\u{E9}")
        #expect(throws: ReceiptError(.bundleIDMismatch)) { try receipt.check(bundleID: "com.example.cafe\u{301}") }
    }

    @Test func `the version must be the same`() throws {
        let receipt = try Self.verified(Samples.forge.receipt { $0.applicationVersion = "1.10" })
        try receipt.check(applicationVersion: "1.10")
        for other in ["", "1.1", "1.100", "1.10 ", "01.10"] {
            #expect(throws: ReceiptError(.appVersionMismatch)) { try receipt.check(applicationVersion: other) }
        }
    }

    @Test func `a receipt without a version has not the version one expects`() throws {
        for receipt in [
            Samples.forge.receipt(without: 3), Samples.forge.receipt { $0.applicationVersion = "" },
        ] {
            let receipt = try Self.verified(receipt)
            #expect(receipt.applicationVersion == nil)
            #expect(throws: ReceiptError(.appVersionMismatch)) { try receipt.check(applicationVersion: "1") }
        }
    }

    @Test(arguments: [16, 6, 1, 0, 300]) func `the device is recognised by its hash`(length: Int) throws {
        let identifier = [UInt8](repeating: 0xA5, count: length)
        let receipt = try Self.verified(Samples.forge.receipt { $0.deviceIdentifier = identifier })
        try receipt.check(deviceIdentifier: identifier)
        var others = [identifier + [0], Array(identifier.reversed() + [1])]
        if length > 0 { others += [Array(identifier.dropLast()), [0xA4] + identifier.dropFirst()] }
        for other in others {
            #expect(throws: ReceiptError(.deviceHashMismatch)) { try receipt.check(deviceIdentifier: other) }
        }
    }

    @Test func `the device hash covers the bundle ID and the opaque value`() throws {
        let identifier = Samples.contents.deviceIdentifier
        for edited in [
            Samples.forge.receiptWithHashOfOther { $0.bundleID += "x" },
            Samples.forge.receiptWithHashOfOther { $0.opaqueValue[0] ^= 1 },
        ] {
            let receipt = try Self.verified(edited)
            #expect(throws: ReceiptError(.deviceHashMismatch)) { try receipt.check(deviceIdentifier: identifier) }
        }
    }

    @Test(arguments: [4, 5] as [AttributeNumber])
    func `a receipt without a hash or its salt fits no device`(missing: AttributeNumber) throws {
        let receipt = try Self.verified(Samples.forge.receipt(without: missing))
        for identifier in [Samples.contents.deviceIdentifier, []] {
            #expect(throws: ReceiptError(.deviceHashMismatch)) { try receipt.check(deviceIdentifier: identifier) }
        }
    }

    @Test(arguments: [0, 19, 21]) func `a hash of another length fits no device`(length: Int) throws {
        let receipt = try Self.verified(Samples.forge.receiptWithDeviceHash { Array(($0 + [0]).prefix(length)) })
        #expect(throws: ReceiptError(.deviceHashMismatch)) {
            try receipt.check(deviceIdentifier: Samples.contents.deviceIdentifier)
        }
    }

    private static func verified(_ receipt: [UInt8]) throws -> VerifiedReceipt {
        try verifier.verify(receipt, at: Samples.now)
    }
}
