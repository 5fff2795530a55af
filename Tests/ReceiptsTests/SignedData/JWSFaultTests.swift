// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Runs every fault of the forge through the verifier.
struct JWSFaultTests {
    private static let forge = SignedSamples.forge

    @Test(arguments: JWSFault.allCases)
    func `each fault gets the answer it is named for below a pinned root`(_ fault: JWSFault) {
        let broken = SignedSamples.verifier.brokenRule(ofJWS: Self.forge.evidence(with: fault))
        #expect(broken.map { .rejected($0) } ?? .genuine == fault.expected)
    }

    @Test(arguments: JWSFault.allCases)
    func `each fault gets the answer it is named for below an operator's root`(_ fault: JWSFault) throws {
        let verifier = try ReceiptVerifier.trusting([SignedSamples.pki.root], for: [.production, .sandbox])
        let broken = verifier.brokenRule(ofJWS: Self.forge.evidence(with: fault))
        #expect(broken.map { .rejected($0) } ?? .genuine == fault.expectedBelowOperatorsRoot)
    }

    /// A fault must not become genuine because its header, or another one of the chain, is known.
    @Test func `each fault gets the same answer again, among all others`() {
        let verifier = ReceiptVerifier.pinning(SignedSamples.pki.root, for: [.production, .sandbox])
        let texts = JWSFault.allCases.map { (fault: $0, text: Self.forge.evidence(with: $0)) }
        for (fault, text) in texts + texts.reversed() {
            let broken = verifier.brokenRule(ofJWS: text)
            #expect(broken.map { .rejected($0) } ?? .genuine == fault.expected, "\(fault)")
        }
    }

    @Test func `nothing is genuine to a verifier that trusts Apple alone`() {
        let verifier = ReceiptVerifier()
        for fault in JWSFault.allCases {
            #expect(verifier.brokenRule(ofJWS: Self.forge.evidence(with: fault)) != nil, "\(fault)")
        }
    }

    @Test func `a transaction cut short anywhere is none`() {
        let text = Self.forge.wellFormed
        for count in text.indices {
            #expect(SignedSamples.verifier.brokenRule(ofJWS: Array(text[..<count])) != nil, "\(count) characters")
        }
    }
}
