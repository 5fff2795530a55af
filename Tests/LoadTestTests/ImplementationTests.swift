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

    @Test(arguments: ForgedEvidenceKind.receipt.implementations)
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
        let tampered = try #require(Self.receipt.flippingBit(at: Self.receipt.bytes.count - 1))
        #expect(tampered.signature != Self.receipt.signature)
        #expect(!Self.accepts(implementation, tampered))
    }

    @Test(arguments: [Implementation.warm, .cold, .floor, .cmsVerify])
    func `a receipt of another authority is refused`(_ implementation: Implementation) throws {
        let stranger = try SampleReceipts(count: 1, purchases: 3, signedBy: SampleAuthority(.receipt, seed: 2), seed: 1)
        #expect(!Self.accepts(implementation, stranger.all[0]))
    }

    @Test(arguments: [Implementation.warm, .cold])
    func `a receipt that says something else than expected is refused`(_ implementation: Implementation) throws {
        let der = Self.receipt.bytes, bundleID = Self.receipt.bundleID
        let otherCount = try #require(SampleReceipt(.receipt, der, bundleID: bundleID, purchases: 4))
        #expect(!Self.accepts(implementation, otherCount))
        let otherApp = try #require(SampleReceipt(.receipt, der, bundleID: bundleID + "x", purchases: 3))
        #expect(throws: RefusedReceipt(implementation: .warm, purchases: 3)) {
            try TestBench.sample.checkAcceptance(of: SampleReceipts(purchases: 3, all: [otherApp]))
        }
    }

    // MARK: - Signed transactions and transaction receipts

    @Test(arguments: [ForgedEvidenceKind.jws, .transactionReceipt])
    func `every implementation accepts its evidence, of its own authority only`(_ evidence: ForgedEvidenceKind) throws {
        let samples = try SampleReceipts.two(evidence)
        try TestBench.of(evidence).checkAcceptance(of: samples)
        let stranger = try TestBench(SampleAuthority(evidence, seed: 2))
        for implementation in evidence.implementations where implementation != .base64 {
            #expect(!stranger.worker(for: implementation)(samples.all[0]), "\(implementation)")
        }
        #expect(samples.all[0].bytes != samples.all[1].bytes)
    }

    /// The 88 letters from the end of a JWS are its signature; a transaction receipt begins with its own.
    @Test(arguments: [
        (ForgedEvidenceKind.jws, -200), (.jws, -40), (.transactionReceipt, 100), (.transactionReceipt, -400),
    ])
    func `another letter in text or signature is refused`(_ evidence: ForgedEvidenceKind, position: Int) throws {
        let sample = try SampleReceipts.two(evidence).all[0]
        let tampered = try #require(sample.replacingLetter(at: position))
        #expect(tampered.content != sample.content || tampered.signature != sample.signature)
        for implementation in evidence.implementations where implementation != .base64 {
            #expect(try !TestBench.of(evidence).worker(for: implementation)(tampered), "\(implementation)")
        }
    }

    @Test func `a signed transaction has about the size of a genuine one`() throws {
        #expect((4500...7000).contains(try SampleReceipts.two(.jws).meanByteCount))
    }

    @Test func `samples that an implementation refuses are not measured`() throws {
        let stranger = try SampleReceipts(count: 1, purchases: 3, signedBy: SampleAuthority(.receipt, seed: 2), seed: 1)
        #expect(throws: RefusedReceipt(implementation: .warm, purchases: 3)) {
            try TestBench.sample.checkAcceptance(of: stranger)
        }
    }

    @Test func `samples are distinct and follow from the seed`() throws {
        let authority = TestBench.sample.authority
        let samples = try SampleReceipts(count: 8, purchases: 3, signedBy: authority, seed: 1).all.map(\.bytes)
        #expect(Set(samples).count == 8)
        #expect(Array(samples.prefix(2)) == SampleReceipts.two.all.map(\.bytes))
        #expect(try SampleReceipts(count: 1, purchases: 3, signedBy: authority, seed: 2).all[0].bytes != samples[0])
    }
}

extension SampleReceipt {
    /// The position of the signed content in the receipt.
    fileprivate var positionOfContent: Int? {
        bytes.indices.first { bytes[$0...].starts(with: content) }
    }

    /// The same receipt with one bit changed.
    fileprivate func flippingBit(at position: Int) -> SampleReceipt? {
        var der = bytes
        der[position] ^= 1
        return SampleReceipt(.receipt, der, bundleID: bundleID, purchases: purchases)
    }

    /// The same evidence with another letter in a text of base64: so far from the end, if the position is negative.
    fileprivate func replacingLetter(at position: Int) -> SampleReceipt? {
        var text = bytes
        let index = position < 0 ? text.count + position : position
        text[index] = text[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return SampleReceipt(evidence, text, bundleID: bundleID, purchases: purchases)
    }
}
