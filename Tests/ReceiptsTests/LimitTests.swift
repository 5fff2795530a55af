// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests each limit with a receipt exactly at it and with one just beyond it.
struct LimitTests {
    @Test(arguments: [(0, nil), (-1, .receiptTooLarge)] as [(Int, Rule?)])
    func `a receipt has at most so many bytes`(spare: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumReceiptBytes = Samples.receipt.count + spare
        try Self.expect(broken, of: Samples.receipt, limits)
    }

    @Test(arguments: [(0, nil), (-1, .receiptTooLarge)] as [(Int, Rule?)])
    func `so has one made by Xcode`(spare: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumReceiptBytes = Samples.xcodeReceipt.count + spare
        try Self.expectXcode(broken, limits)
    }

    @Test(arguments: [(3, nil), (2, .tooManyCertificates)] as [(Int, Rule?)])
    func `a container has at most so many certificates`(maximum: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumCertificates = maximum
        try Self.expect(broken, of: Samples.receipt, limits)
    }

    @Test(arguments: [(0, nil), (-1, .tooManyAttributes)] as [(Int, Rule?)])
    func `a receipt has at most so many attributes beside Apple's own`(spare: Int, broken: Rule?) throws {
        let unknown = (20_000..<20_040).map {
            ReceiptForge.AttributeTemplate(AttributeNumber(rawValue: $0), value: [1])
        }
        var limits = Limits()
        limits.maximumOtherAttributes = unknown.count + spare
        try Self.expect(broken, of: Samples.forge.receipt { $0.unknownAttributes = unknown }, limits)
    }

    @Test(arguments: [(0, nil), (-1, .tooManyAttributes)] as [(Int, Rule?)])
    func `so has each purchase`(spare: Int, broken: Rule?) throws {
        let unknown = (20_000..<20_040).map {
            ReceiptForge.AttributeTemplate(AttributeNumber(rawValue: $0), value: [1])
        }
        var limits = Limits()
        limits.maximumOtherAttributes = unknown.count + spare
        try Self.expect(broken, of: Samples.forge.receipt(addingToFirstPurchase: unknown), limits)
    }

    @Test(arguments: [(2, nil), (1, .tooManyPurchases), (0, .tooManyPurchases)] as [(Int, Rule?)])
    func `a receipt has at most so many purchases`(maximum: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumPurchases = maximum
        try Self.expect(broken, of: Samples.receipt, limits)
    }

    /// Xcode's outermost five nodes and the segmented content have indefinite lengths; the content is inside them.
    @Test(arguments: [(7, nil), (6, nil), (5, .derTooDeep), (1, .derTooDeep)] as [(Int, Rule?)])
    func `a receipt made by Xcode is nested at most so deep`(maximum: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumDepth = maximum
        try Self.expectXcode(broken, limits)
    }

    @Test func `a receipt whose form is read under other limits keeps those of its verifier for its fields`() throws {
        var limits = Limits()
        limits.maximumPurchases = 1
        let verifier = try ReceiptVerifier.trustingSamples(limits: limits)
        let receipt = try UnverifiedReceipt(Samples.receipt)
        #expect(throws: ReceiptError(.tooManyPurchases)) { try verifier.verify(receipt, at: Samples.now) }
    }

    private static func expect(_ broken: Rule?, of receipt: [UInt8], _ limits: Limits) throws {
        #expect(try ReceiptVerifier.trustingSamples(limits: limits).brokenRule(of: receipt) == broken)
    }

    private static func expectXcode(_ broken: Rule?, _ limits: Limits) throws {
        let store = try TrustStore.apple(and: Samples.xcode.certificate, for: [.xcode])
        #expect(ReceiptVerifier(trustStore: store, limits: limits).brokenRule(of: Samples.xcodeReceipt) == broken)
    }
}
