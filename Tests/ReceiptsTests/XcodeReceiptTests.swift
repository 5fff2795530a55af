// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Every Xcode has the same signing key. Its receipts count only if the operator trusts it, and only for Xcode.
struct XcodeReceiptTests {
    @Test(
        arguments: [
            ([], .derIndefiniteLength), ([.sandbox], .derIndefiniteLength), ([.production], .derIndefiniteLength),
            ([.production, .sandbox], .derIndefiniteLength), ([.xcode], nil), ([.xcode, .sandbox], nil),
        ] as [(Set<Environment>, Rule?)])
    func `an Xcode receipt is genuine only under a root for environment Xcode`(
        environments: Set<Environment>, broken: Rule?
    ) throws {
        let store = try TrustStore.apple(and: Samples.xcode.certificate, for: environments)
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: Samples.xcodeReceipt) == broken)
    }

    @Test func `Apple's roots alone trust no Xcode receipt`() {
        #expect(ReceiptVerifier().brokenRule(of: Samples.xcodeReceipt) == .derIndefiniteLength)
    }

    @Test func `another Xcode certificate is not trusted`() throws {
        let store = try TrustStore.apple(and: XcodePKI(seed: 2).certificate, for: [.xcode])
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: Samples.xcodeReceipt) == .anchorUntrusted)
    }

    @Test func `the fields of an Xcode receipt are read`() throws {
        let receipt = try Self.verifier.verify(Samples.xcodeReceipt, at: Samples.now)
        #expect(receipt.environment == .xcode && receipt.receiptType == "Xcode")
        #expect(receipt.bundleID == Samples.contents.bundleID && receipt.creationDate == Samples.created)
        #expect(receipt.purchases.map(\.transactionID) == Samples.contents.purchases.map(\.transactionID))
        #expect(receipt.purchases.allSatisfy { $0.originalTransactionID == nil })
        try receipt.check(deviceIdentifier: Samples.contents.deviceIdentifier)
    }

    @Test func `a receipt is kept as it was sent, in Xcode's form too`() throws {
        let xcode = try Self.verifier.verify(Samples.xcodeReceipt, at: Samples.now)
        #expect(xcode.bytes == Samples.xcodeReceipt)
        // The sent form and its DER.
        #expect(xcode.byteCount >= 2 * xcode.signedContent.count)
        let receipt = try ForgedReceiptTests.verifier.verify(Samples.receipt, at: Samples.now)
        #expect(receipt.bytes == Samples.receipt)
    }

    @Test func `an Xcode receipt cut short anywhere is no receipt`() {
        for count in Samples.xcodeReceipt.indices {
            let broken = Self.verifier.brokenRule(of: Array(Samples.xcodeReceipt[..<count]))
            // Whether the cut is inside the end-of-contents bytes or before, something is missing.
            if broken != .derTruncated { Issue.record("\(count) bytes: \(broken?.rawValue ?? "genuine")") }
        }
        #expect(Self.verifier.brokenRule(of: Samples.xcodeReceipt + [0]) == .derTrailingBytes)
    }

    @Test(arguments: [[.sandbox], [.sandbox, .xcode]] as [Set<Environment>])
    func `the BER form is refused around a sandbox receipt`(environments: Set<Environment>) throws {
        let fault = try #require(ReceiptFault(named: "xcode-shape"))
        guard case .der(let rewrapped) = Samples.forge.evidence(with: fault) else { return }
        var store = try TrustStore.apple(and: Samples.xcode.certificate, for: [.xcode])
        store.add(try TrustAnchor(der: Samples.pki.root.der, environments: environments))
        let verifier = ReceiptVerifier(trustStore: store)
        #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        #expect(verifier.brokenRule(of: rewrapped) == .environmentNotAllowed)
    }

    @Test(
        arguments: [
            ("Xcode", [.xcode], nil), ("Xcode", [.xcode, .sandbox], nil), ("Xcode", [.sandbox], .leafMarkerMissing),
            ("ProductionSandbox", [.xcode], .environmentNotAllowed),
            ("ProductionSandbox", [.xcode, .sandbox, .production], .environmentNotAllowed),
            ("ProductionSandbox", [.sandbox], .leafMarkerMissing),
            ("Production", [.xcode, .production], .environmentNotAllowed),
        ] as [(String, Set<Environment>, Rule?)])
    func `a root that signs by itself signs for Xcode and nothing else`(
        receiptType: String, environments: Set<Environment>, broken: Rule?
    ) throws {
        let receipt = Samples.forge.receiptSignedByRoot(receiptType: receiptType)
        #expect(try ReceiptVerifier.trustingSamples(for: environments).brokenRule(of: receipt) == broken)
    }

    @Test(
        arguments: [
            ([.sandbox], .dateInvalid), ([.sandbox, .production], .dateInvalid), ([.sandbox, .xcode], nil),
        ] as [(Set<Environment>, Rule?)])
    func `dates with an offset are read under a root for Xcode only`(
        environments: Set<Environment>, broken: Rule?
    ) throws {
        let receipt = Samples.forge.receipt(creationDate: "2024-03-01T13:30:15+0100")
        let verifier = try ReceiptVerifier.trustingSamples(for: environments)
        #expect(verifier.brokenRule(of: receipt) == broken)
        if broken == nil {
            #expect(try verifier.verify(receipt, at: Samples.now).creationDate == Samples.created)
        }
    }

    private static let verifier: ReceiptVerifier = {
        guard let store = try? TrustStore.apple(and: Samples.xcode.certificate, for: [.xcode]) else {
            preconditionFailure("the forge's Xcode certificate is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()
}
