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
        let position = try #require(Self.receipt.positionOfContent) + Self.receipt.parts[0].content.count - 1
        let tampered = try #require(Self.receipt.flippingBit(at: position))
        #expect(tampered.parts[0].content != Self.receipt.parts[0].content)
        #expect(!Self.accepts(implementation, tampered))
    }

    @Test(arguments: verifying)
    func `a flipped bit of the signature is refused`(_ implementation: Implementation) throws {
        let tampered = try #require(Self.receipt.flippingBit(at: Self.receipt.bytes.count - 1))
        #expect(tampered.parts[0].signature != Self.receipt.parts[0].signature)
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

    // MARK: - Signed transactions, transaction receipts and notifications

    @Test(arguments: [ForgedEvidenceKind.jws, .transactionReceipt, .notification])
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
        (.notification, -40),
    ])
    func `another letter in text or signature is refused`(_ evidence: ForgedEvidenceKind, position: Int) throws {
        let sample = try SampleReceipts.two(evidence).all[0]
        let tampered = try #require(sample.replacingLetter(at: position))
        #expect(tampered.parts != sample.parts)
        for implementation in evidence.implementations where implementation != .base64 {
            #expect(try !TestBench.of(evidence).worker(for: implementation)(tampered), "\(implementation)")
        }
    }

    @Test func `a signed transaction has about the size of a genuine one`() throws {
        #expect((4500...7000).contains(try SampleReceipts.two(.jws).meanByteCount))
    }

    @Test func `the floor of a notification is three signatures`() throws {
        let sample = try SampleReceipts.two(.notification).all[0]
        #expect(sample.parts.count == 3 && Set(sample.parts).count == 3 && sample.base64.isEmpty)
        #expect(sample.parts[0].content.count > sample.parts[1].content.count + sample.parts[2].content.count)
        #expect(try SampleReceipts.two(.jws).all[0].parts.count == 1)
    }

    /// The signature of the notification itself is genuine.
    @Test(arguments: ForgedEvidenceKind.notification.implementations)
    func `a notification around a transaction of another authority is refused`(
        _ implementation: Implementation
    ) throws {
        let bench = try TestBench.of(.notification), pki = TestBench.transactionPKI
        let forge = JWSForge(pki: pki)
        let stranger = TransactionPKI(seed: 2).jws(TransactionContents())
        for (transaction, isGenuine) in [(pki.jws(TransactionContents()), true), (stranger, false)] {
            let text = pki.jws(forge.notification(nesting: transaction, renewal: pki.jws(RenewalInfoContents())))
            let sample = try #require(
                SampleReceipt(.notification, text, bundleID: "com.example.forge", purchases: 1))
            #expect(bench.worker(for: implementation)(sample) == isGenuine)
        }
    }

    @Test(arguments: ForgedEvidenceKind.notification.implementations)
    func `another notification under the same signature is refused`(_ implementation: Implementation) throws {
        let bench = try TestBench.of(.notification), pki = TestBench.transactionPKI
        let forge = JWSForge(pki: pki)
        let payloads = [forge.notification(), forge.notification(about: { $0.bundleVersion = "43" })]
        for (payload, isGenuine) in zip(payloads, [true, false]) {
            var parts = pki.jws(payloads[0]).split(separator: UInt8(ascii: ".")).map(Array.init)
            parts[1] = Base64URLText.encode(payload)
            let sample = try #require(
                SampleReceipt(
                    .notification, Array(parts.joined(separator: [UInt8(ascii: ".")])), bundleID: "com.example.forge",
                    purchases: 1))
            #expect(bench.worker(for: implementation)(sample) == isGenuine)
        }
    }

    @Test func `a notification without its items would measure less, and is not taken`() throws {
        let bench = try TestBench.of(.notification), pki = TestBench.transactionPKI
        let test = try #require(
            SampleReceipt(.notification, pki.jws(NotificationContents()), bundleID: "com.example.forge", purchases: 1))
        #expect(test.parts.count == 1)
        #expect(throws: RefusedReceipt(implementation: .warm, purchases: 1)) {
            try bench.checkAcceptance(of: SampleReceipts(purchases: 1, all: [test]))
        }
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
        bytes.indices.first { bytes[$0...].starts(with: parts[0].content) }
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
