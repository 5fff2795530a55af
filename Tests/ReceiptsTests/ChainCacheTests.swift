// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests that a cached chain changes the time of an answer and nothing else.
struct ChainCacheTests {
    private static let faults = ReceiptFault.allCases.filter { fault in
        if case .badRequest = fault.expected { return false }
        return true
    }
    /// Decoded once, because the large ones take time.
    private static let receipts: [(fault: ReceiptFault, bytes: [UInt8])] = faults.compactMap { fault in
        (try? Base64.decode(Samples.forge.evidence(with: fault).base64)).map { (fault, $0) }
    }

    @Test func `a verifier without cached chains and one with the genuine chain answer alike`() throws {
        for (fault, bytes) in Self.receipts {
            let verifier = try ReceiptVerifier.trustingSamples()
            let cold = verifier.brokenRule(of: bytes)
            #expect(verifier.brokenRule(of: Samples.receipt) == nil)
            let warm = verifier.brokenRule(of: bytes)
            #expect(cold == fault.rule && warm == fault.rule, "\(fault)")
        }
    }

    @Test(arguments: [false, true]) func `faults leave no trace, in whichever order they come`(reversed: Bool) throws {
        let verifier = try ReceiptVerifier.trustingSamples()
        for round in 1...2 {
            for (fault, bytes) in reversed ? Self.receipts.reversed() : Self.receipts {
                #expect(verifier.brokenRule(of: bytes) == fault.rule, "\(fault), round \(round)")
            }
            #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        }
    }

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 1], [1, 0]])
    func `certificates may stand in any order, and the root may be missing`(order: [Int]) throws {
        let receipt = Samples.forge.receipt(certificateOrder: order)
        let verifier = try ReceiptVerifier.trustingSamples()
        for _ in 1...3 { #expect(verifier.brokenRule(of: receipt) == nil) }
        #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        #expect(verifier.brokenRule(of: receipt) == nil)
    }

    @Test(arguments: [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]])
    func `a certificate appears once`(order: [Int]) throws {
        let receipt = Samples.forge.receipt(certificateOrder: order)
        let verifier = try ReceiptVerifier.trustingSamples()
        let cold = verifier.brokenRule(of: receipt)
        #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        #expect(cold != nil && verifier.brokenRule(of: receipt) == cold)
    }

    @Test func `the same certificates with another signer are another chain`() throws {
        let receipt = Samples.forge.receiptSignedByIntermediate
        let verifier = try ReceiptVerifier.trustingSamples()
        #expect(verifier.brokenRule(of: receipt) == .certificateUnused)
        #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        #expect(verifier.brokenRule(of: receipt) == .certificateUnused)
    }

    @Test func `a cached chain is valid for its own key only`() throws {
        let verifier = try ReceiptVerifier.trustingSamples()
        #expect(verifier.brokenRule(of: Samples.receipt) == nil)
        #expect(verifier.brokenRule(of: Samples.forge.receiptSignedByStranger) == .signatureInvalid)
    }

    @Test func `trust is not shared between verifiers`() throws {
        let trusting = try ReceiptVerifier.trustingSamples()
        let strange = ReceiptVerifier(trustStore: try .apple(and: Samples.otherPKI.root, for: [.sandbox]))
        for _ in 1...2 {
            #expect(trusting.brokenRule(of: Samples.receipt) == nil)
            #expect(strange.brokenRule(of: Samples.receipt) == .anchorUntrusted)
            #expect(strange.brokenRule(of: Samples.otherPKI.sign(Samples.contents)) == nil)
            #expect(trusting.brokenRule(of: Samples.otherPKI.sign(Samples.contents)) == .anchorUntrusted)
        }
    }

    @Test func `no chain outlasts a change of the roots, and a verifier in use keeps its own`() throws {
        let began = try TransactionReceiptSamples.verifier()
        let ofSignedData = try ReceiptVerifier.trusting([SignedSamples.pki.root], for: [.sandbox])
        let transaction = SignedSamples.transaction()
        func rules(_ verifier: ReceiptVerifier, _ signed: ReceiptVerifier) -> [Rule?] {
            [
                verifier.brokenRule(of: Samples.receipt),
                verifier.brokenRule(ofTransactionReceipt: TransactionReceiptSamples.receipt),
                signed.brokenRule(ofJWS: transaction),
            ]
        }
        #expect(rules(began, ofSignedData) == [nil, nil, nil])
        let removed = rules(began.trusting(.apple), ofSignedData.trusting(.apple))
        #expect(removed == [.anchorUntrusted, .issuerCertificateMissing, .anchorUntrusted])
        let added = began.trusting(.apple).trusting(began.trustStore)
        #expect(rules(added, ofSignedData.trusting(.apple).trusting(ofSignedData.trustStore)) == [nil, nil, nil])
        #expect(rules(began, ofSignedData) == [nil, nil, nil])
    }

    @Test func `what an anchor may sign is not shared between verifiers`() throws {
        let sandbox = try ReceiptVerifier.trustingSamples(for: [.sandbox])
        let production = try ReceiptVerifier.trustingSamples(for: [.production])
        for _ in 1...2 {
            #expect(sandbox.brokenRule(of: Samples.receipt) == nil)
            #expect(production.brokenRule(of: Samples.receipt) == .environmentNotAllowed)
        }
    }

    @Test func `more chains than the cache holds are still verified`() throws {
        let receipts = (1...80).map { Samples.forge.receipt(leafSerialNumber: [UInt8($0)]) }
        let verifier = try ReceiptVerifier.trustingSamples()
        for _ in 1...2 {
            for receipt in receipts { #expect(verifier.brokenRule(of: receipt) == nil) }
        }
    }
}

extension ReceiptFault {
    fileprivate var rule: Rule? {
        guard case .rejected(let rule) = expected else { return nil }
        return rule
    }
}
