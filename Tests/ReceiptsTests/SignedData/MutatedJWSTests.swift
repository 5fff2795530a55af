// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

/// Random changes to genuine JWS. None may be genuine, but for the other one of the two signatures of ES256.
struct MutatedJWSTests {
    /// A genuine JWS in its parts.
    private struct Original {
        let text: [UInt8]
        let signingInput: [UInt8]
        /// The spellings of its two signatures.
        let signatures: [[UInt8]]

        init(_ payload: [UInt8]) {
            signingInput = Array(SignedSamples.pki.jws(payload).dropLast(1 + 86))
            let signature = SignedSamples.pki.sign(signingInput)
            signatures = [signature, SignatureTwin.twin(of: signature)].map(Base64URLText.encode)
            text = signingInput + [UInt8(ascii: ".")] + signatures[0]
        }

        func isSpelled(_ other: [UInt8]) -> Bool {
            signatures.contains { signingInput + [UInt8(ascii: ".")] + $0 == other }
        }
    }

    private static let originals = [
        TransactionContents().payload, TransactionContents.complete.payload, RenewalInfoContents().payload,
        AppTransactionContents().payload, SignedSamples.forge.notification(),
    ].map(Original.init)

    @Test(arguments: 0..<20)
    func `of a hundred mutated JWS none is genuine`(seed: UInt64) {
        var generator = SplitMix64(seed: TestSeed.number(seed), purpose: "mutated JWS")
        for number in 0..<100 {
            let original = Self.originals[number % Self.originals.count]
            var text = original.text
            for _ in 0...Int.random(in: 0...2, using: &generator) {
                JWSMutation.allCases.randomElement(using: &generator)?.apply(to: &text, using: &generator)
            }
            let isSpelling = Self.originals.contains { $0.isSpelled(text) }
            let broken = SignedSamples.verifier.brokenRule(ofJWS: text)
            #expect((broken == nil) == isSpelling, "seed \(seed), number \(number): \(broken?.rawValue ?? "genuine")")
        }
    }

    /// A mutation that changes nothing does so by an equal byte: with 1/64, and so twenty times with less than 1e-36.
    @Test func `each kind of mutation changes a text`() {
        var generator = SplitMix64(seed: TestSeed.number(1))
        for mutation in JWSMutation.allCases {
            let texts = (0..<20).map { _ in
                var text = Self.originals[0].text
                mutation.apply(to: &text, using: &generator)
                return text
            }
            #expect(texts.contains { $0 != Self.originals[0].text }, "\(mutation)")
        }
    }
}

/// A random change to the text of a JWS.
private enum JWSMutation: CaseIterable {
    case anyByte, otherCharacter, bit, deletion, insertion, cut, repetition
    case partTwice, partsSwapped, partRemoved, partEmptied

    func apply(to text: inout [UInt8], using generator: inout SplitMix64) {
        guard !text.isEmpty else { return }
        let place = Int.random(in: text.indices, using: &generator)
        let byte = UInt8.random(in: .min ... .max, using: &generator)
        switch self {
        case .anyByte: text[place] = byte
        case .otherCharacter: text[place] = Self.alphabet[Int(byte) % Self.alphabet.count]
        case .bit: text[place] ^= 1 << (byte % 8)
        case .deletion: text.remove(at: place)
        case .insertion: text.insert(Self.alphabet[Int(byte) % Self.alphabet.count], at: place)
        case .cut: text.removeLast(min(text.count, 1 + Int(byte)))
        case .repetition: text.append(contentsOf: text[place...].prefix(Int(byte)))
        case .partTwice, .partsSwapped, .partRemoved, .partEmptied:
            changeParts(of: &text, at: Int(byte), using: &generator)
        }
    }

    private func changeParts(of text: inout [UInt8], at place: Int, using generator: inout SplitMix64) {
        let dot = UInt8(ascii: ".")
        var parts = text.split(separator: dot, omittingEmptySubsequences: false).map(Array.init)
        let index = place % parts.count
        switch self {
        case .partTwice: parts.insert(parts[index], at: index)
        case .partsSwapped: parts.swapAt(index, Int.random(in: parts.indices, using: &generator))
        case .partRemoved: parts.remove(at: index)
        default: parts[index] = []
        }
        text = Array(parts.joined(separator: [dot]))
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ".utf8)
}
