// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Runs every fault of transaction receipts through the verifier.
struct ForgedTransactionReceiptTests {
    @Test(arguments: TransactionReceiptFault.allCases)
    func `each fault gets the answer it is named for`(_ fault: TransactionReceiptFault) throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: fault.acceptsVersion2)
        let receipt = TransactionReceiptSamples.forge.evidence(with: fault)
        #expect(verifier.brokenRule(ofTransactionReceipt: receipt) == fault.rule)
    }

    @Test(arguments: [false, true]) func `cached chains change no answer`(acceptsVersion2: Bool) throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: acceptsVersion2)
        for _ in 1...2 {
            for (fault, bytes) in TransactionReceiptSamples.faults where fault.acceptsVersion2 == acceptsVersion2 {
                #expect(verifier.brokenRule(ofTransactionReceipt: bytes) == fault.rule, "\(fault)")
            }
            #expect(verifier.brokenRule(ofTransactionReceipt: TransactionReceiptSamples.receipt) == nil)
        }
    }

    /// The rules for versions 3 and 4 hold where version 2 is accepted, too.
    @Test func `accepting version 2 changes the answer to version 2 only`() throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: true)
        for (fault, bytes) in TransactionReceiptSamples.faults where !fault.acceptsVersion2 {
            let broken = verifier.brokenRule(ofTransactionReceipt: bytes)
            #expect(broken == (fault.name == "version-2" ? nil : fault.rule), "\(fault)")
        }
    }

    @Test func `receipts differ`() {
        // One receipt has two answers, by policy.
        let others = TransactionReceiptSamples.faults.filter { $0.fault.name != "version-2" }.map(\.bytes)
        #expect(Set(others + [TransactionReceiptSamples.receipt]).count == TransactionReceiptFault.allCases.count)
    }

    @Test func `receipts are made alike from scratch`() {
        let again = TransactionReceiptForge(pki: ForgedPKI(seed: 1))
        for (fault, bytes) in TransactionReceiptSamples.faults {
            #expect(again.evidence(with: fault) == bytes, "\(fault)")
        }
    }

    @Test func `a receipt cut short anywhere is no receipt`() throws {
        let verifier = try TransactionReceiptSamples.verifier()
        let receipt = TransactionReceiptSamples.receipt
        for count in receipt.indices {
            #expect(verifier.brokenRule(ofTransactionReceipt: Array(receipt[..<count])) != nil)
        }
    }

    @Test func `no error contains a byte of the receipt`() throws {
        let verifier = try TransactionReceiptSamples.verifier()
        for (_, bytes) in TransactionReceiptSamples.faults {
            do throws(ReceiptError) {
                let receipt = try verifier.verify(transactionReceipt: bytes, at: Samples.now)
                let texts = ["\(receipt)", String(reflecting: receipt), "\(receipt.fields)"]
                #expect(texts.allSatisfy { !$0.contains("com.example") })
            } catch {
                #expect(!"\(error)".contains("com.example"))
            }
        }
    }
}
