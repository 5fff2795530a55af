// SPDX-License-Identifier: Apache-2.0

import RealCorpus
import ReceiptForge
import Receipts
import Synchronization
import Testing

/// Tests the verifier's reports of new chains.
struct SeenChainTests {
    @Test func `a chain is reported once, from the signer to the anchor`() throws {
        let seen = Mutex<[VerifiedChainInfo]>([])
        let store = try TrustStore.apple(and: Samples.pki.root, for: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: store) { chain in seen.withLock { $0.append(chain) } }
        for _ in 1...3 { #expect(verifier.brokenRule(of: Samples.receipt) == nil) }
        _ = verifier.brokenRule(of: Samples.otherPKI.sign(Samples.contents))
        let chains = seen.withLock { $0 }
        let chain = try #require(chains.first)
        #expect(chains.count == 1 && chain.belowAnchor.count == 2 && chain.intermediates.count == 1)
        #expect(chain.anchor.fingerprint == Fingerprint(of: Samples.pki.root.der.span))
        #expect(chain.belowAnchor.allSatisfy { $0.notAfter < chain.anchor.notAfter })
        // Intermediates of other roots are never reported.
        #expect(!chain.isApples && !chain.hasUnknownIntermediate)
    }

    @Test(.enabled(if: RealCorpus.receipts != nil, "set RECEIPT_CORPUS to a folder of real receipts"))
    func `every intermediate in real receipts is known`() throws {
        let seen = Mutex<[VerifiedChainInfo]>([])
        let verifier = ReceiptVerifier { chain in seen.withLock { $0.append(chain) } }
        for row in try RealReceipts.index() where row.isGenuine {
            _ = try verifier.verify(row.bytes(), at: RealReceipts.now)
        }
        let chains = seen.withLock { $0 }
        #expect(!chains.isEmpty && chains.allSatisfy { $0.isApples && !$0.hasUnknownIntermediate })
    }
}
