// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing
import TestSupport

@testable import ReceiptForge

/// Tests 2,000 seeded changes of genuine transaction receipts: none is genuine unless only unsigned bytes changed.
struct TransactionReceiptMutationTests {
    private static let pki = TransactionReceiptSamples.forge.pki
    private static let contents = TransactionReceiptSamples.contents

    @Test(arguments: [2, 3, 4] as [UInt8]) func `changes of the text are noticed unless they are unsigned`(
        version: UInt8
    ) throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: true)
        let receipt = Self.pki.sign(Self.contents, version: version)
        let genuine = try verifier.verify(transactionReceipt: receipt, at: Samples.now)
        var generator = SplitMix64(seed: TestSeed.number(UInt64(version)), purpose: "text")
        var rejected = 0
        for _ in 0..<400 {
            var changed = receipt
            generator.change(&changed)
            if let verified = try? verifier.verify(transactionReceipt: changed, at: Samples.now) {
                #expect(verified.identity == genuine.identity && verified.fields == genuine.fields)
            } else {
                rejected += 1
            }
        }
        #expect(rejected > 300 || !TestSeed.isOfCI)
    }

    /// A change of the text is mostly one of the base64; here the bytes below it change.
    @Test(arguments: [2, 3, 4] as [UInt8]) func `changes of the signature or of what it covers are noticed`(
        version: UInt8
    ) throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: true)
        let receipt = Self.pki.receipt(Self.contents, version: version)
        #expect(verifier.brokenRule(ofTransactionReceipt: receipt.encoded) == nil)
        var generator = SplitMix64(seed: TestSeed.number(UInt64(version)), purpose: "parts")
        for _ in 0..<270 {
            var (blob, info) = (receipt.signatureBlob, receipt.purchaseInfo)
            if generator.chance(percent: 50) { generator.change(&blob) } else { generator.change(&info) }
            guard blob != receipt.signatureBlob || info != receipt.purchaseInfo else { continue }
            var list = receipt.propertyList
            list.replace("signature", with: Base64Encoder.text(blob))
            list.replace("purchase-info", with: Base64Encoder.text(info))
            #expect(verifier.brokenRule(ofTransactionReceipt: list.encoded) != nil)
        }
    }
}

extension SplitMix64 {
    /// Makes one to three changes at random places.
    fileprivate mutating func change(_ bytes: inout [UInt8]) {
        for _ in 0..<number(in: 1...3) {
            let place = Int(number(in: 0...Int64(bytes.count - 1)))
            let value = UInt8(truncatingIfNeeded: next())
            switch number(in: 1...5) {
            case 1: bytes[place] = value
            case 2: bytes[place] ^= 1 << (value % 8)
            case 3: bytes.insert(value, at: place)
            case 4: bytes.remove(at: place)
            default: bytes.append(contentsOf: bytes[place..<min(place + Int(value), bytes.count)])
            }
        }
    }
}
