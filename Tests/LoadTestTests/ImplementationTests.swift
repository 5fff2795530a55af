// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import LoadTest

/// An implementation that accepted anything would be fast for nothing.
struct ImplementationTests {
    private static let receipt = SampleReceipts.two.all[0]
    private static let verifying: [Implementation] = [.warm, .cold, .floor, .cmsVerify]

    private static func accepts(_ implementation: Implementation, _ receipt: SampleReceipt) -> Bool {
        TestBench.sample.worker(for: implementation)(receipt)
    }

    @Test(arguments: Implementation.allCases)
    func `every implementation accepts every sample`(_ implementation: Implementation) {
        #expect(SampleReceipts.two.all.allSatisfy { Self.accepts(implementation, $0) })
    }

    @Test(arguments: verifying)
    func `a flipped bit of the signed content is refused`(_ implementation: Implementation) throws {
        // The last bytes of the content are text of an attribute: the receipt stays well formed.
        let position = try #require(Self.receipt.positionOfContent) + Self.receipt.content.count - 1
        let tampered = try #require(Self.receipt.flippingBit(at: position))
        #expect(tampered.content != Self.receipt.content)
        #expect(!Self.accepts(implementation, tampered))
    }

    @Test(arguments: verifying)
    func `a flipped bit of the signature is refused`(_ implementation: Implementation) throws {
        let tampered = try #require(Self.receipt.flippingBit(at: Self.receipt.der.count - 1))
        #expect(tampered.signature != Self.receipt.signature)
        #expect(!Self.accepts(implementation, tampered))
    }

    @Test(arguments: [Implementation.warm, .cold, .floor, .cmsVerify])
    func `a receipt of another authority is refused`(_ implementation: Implementation) throws {
        let stranger = try SampleReceipts(count: 1, purchases: 3, signedBy: ForgedPKI(seed: 2), seed: 1)
        #expect(!Self.accepts(implementation, stranger.all[0]))
    }

    @Test(arguments: [Implementation.warm, .cold])
    func `a receipt that says something else than expected is refused`(_ implementation: Implementation) throws {
        let der = Self.receipt.der, bundleID = Self.receipt.bundleID
        let otherCount = try #require(SampleReceipt(der: der, bundleID: bundleID, purchases: 4))
        #expect(!Self.accepts(implementation, otherCount))
        let otherApp = try #require(SampleReceipt(der: der, bundleID: bundleID + "x", purchases: 3))
        #expect(throws: RefusedReceipt(implementation: .warm, purchases: 3)) {
            try TestBench.sample.checkAcceptance(of: SampleReceipts(purchases: 3, all: [otherApp]))
        }
    }

    @Test func `samples that an implementation refuses are not measured`() throws {
        let stranger = try SampleReceipts(count: 1, purchases: 3, signedBy: ForgedPKI(seed: 2), seed: 1)
        #expect(throws: RefusedReceipt(implementation: .warm, purchases: 3)) {
            try TestBench.sample.checkAcceptance(of: stranger)
        }
    }

    @Test func `samples are distinct and follow from the seed`() throws {
        let pki = TestBench.sample.pki
        let samples = try SampleReceipts(count: 8, purchases: 3, signedBy: pki, seed: 1).all.map(\.der)
        #expect(Set(samples).count == 8)
        #expect(Array(samples.prefix(2)) == SampleReceipts.two.all.map(\.der))
        #expect(try SampleReceipts(count: 1, purchases: 3, signedBy: pki, seed: 2).all[0].der != samples[0])
    }
}

extension SampleReceipt {
    /// The position of the signed content in the receipt.
    fileprivate var positionOfContent: Int? {
        der.indices.first { der[$0...].starts(with: content) }
    }

    /// The same receipt with one bit changed.
    fileprivate func flippingBit(at position: Int) -> SampleReceipt? {
        var der = der
        der[position] ^= 1
        return SampleReceipt(der: der, bundleID: bundleID, purchases: purchases)
    }
}
