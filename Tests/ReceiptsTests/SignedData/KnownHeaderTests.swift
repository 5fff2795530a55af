// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Synchronization
import Testing

/// Headers whose chains a verifier has verified before.
struct KnownHeaderTests {
    private static let forge = SignedSamples.forge

    /// A verifier, and the number of chains that were new to it.
    private final class Counting: Sendable {
        private final class Counter: Sendable { let count = Atomic(0) }

        private let counter: Counter
        let verifier: ReceiptVerifier

        init() {
            let counter = Counter()
            self.counter = counter
            verifier = .pinning(SignedSamples.pki.root, for: [.production, .sandbox]) { _ in
                counter.count.add(1, ordering: .relaxed)
            }
        }

        var newChains: Int { counter.count.load(ordering: .relaxed) }
    }

    private static func text(_ name: String) throws -> [UInt8] {
        forge.evidence(with: try #require(JWSFault(named: name)))
    }

    @Test func `a chain is reported once, however often its header comes`() {
        let counting = Counting()
        for number in 0..<5 {
            let text = SignedSamples.transaction { $0.transactionID = String(number + 1) }
            #expect(counting.verifier.brokenRule(ofJWS: text) == nil)
        }
        #expect(counting.newChains == 1)
    }

    @Test func `a changed header after a known one is verified by itself`() throws {
        let counting = Counting()
        #expect(counting.verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
        let changed: [(String, Rule)] = [
            ("header-edited", .signatureInvalid), ("alg-none", .jwsAlgorithmUnsupported),
            ("crit", .jwsCriticalParameter), ("lookalike-chain", .anchorUntrusted),
            ("leaf-without-marker", .leafMarkerMissing), ("root-reissued", .anchorUntrusted),
            ("leaf-signature-flipped", .certificateSignatureInvalid),
        ]
        for (name, rule) in changed {
            #expect(counting.verifier.brokenRule(ofJWS: try Self.text(name)) == rule, "\(name)")
        }
        #expect(counting.newChains == 1)
    }

    @Test func `the same chain in another header is not reported again`() throws {
        let counting = Counting()
        #expect(counting.verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
        for name in ["typ-and-kid", "header-reversed", "header-with-spaces", "x5c-slashes-escaped"] {
            #expect(counting.verifier.brokenRule(ofJWS: try Self.text(name)) == nil)
        }
        #expect(counting.newChains == 1)
    }

    @Test func `an invalid signature makes no header known, and spoils none`() throws {
        let counting = Counting()
        for name in ["signature-bit-flipped", "signature-of-another-leaf", "signature-empty", "payload-edited"] {
            #expect(counting.verifier.brokenRule(ofJWS: try Self.text(name)) != nil)
            #expect(counting.newChains == 0)
        }
        #expect(counting.verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
        #expect(counting.newChains == 1)
        #expect(counting.verifier.brokenRule(ofJWS: try Self.text("signature-bit-flipped")) == .signatureInvalid)
        #expect(counting.verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
    }

    @Test func `the claims below a known header are judged each time`() throws {
        let verifier = Counting().verifier
        #expect(verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
        let judged: [(String, Rule)] = [
            ("signed-before-leaf", .certificateNotYetValid), ("signed-date-in-future", .signedDateInFuture),
            ("environment-xcode", .environmentNotAllowed), ("bundle-id-twice", .claimDuplicate),
            ("payload-padded", .jwsBase64URLInvalid),
        ]
        for (name, rule) in judged { #expect(verifier.brokenRule(ofJWS: try Self.text(name)) == rule, "\(name)") }
    }

    @Test func `more headers than are remembered are all verified`() {
        let counting = Counting()
        func text(_ number: Int) -> [UInt8] { Self.forge.signed(keyIdentifier: String(number)) }
        for number in 0..<80 { #expect(counting.verifier.brokenRule(ofJWS: text(number)) == nil) }
        #expect(counting.verifier.brokenRule(ofJWS: text(0)) == nil)
        #expect(counting.newChains == 1)
    }

    @Test func `a header known to one verifier is unknown to another`() throws {
        #expect(Counting().verifier.brokenRule(ofJWS: Self.forge.wellFormed) == nil)
        let stranger = ReceiptVerifier.pinning(TransactionPKI(seed: 2).root, for: [.sandbox])
        #expect(stranger.brokenRule(ofJWS: Self.forge.wellFormed) == .anchorUntrusted)
    }
}
