// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Receipts for testing and measuring verifiers: random genuine ones, then every fault once.
///
/// Each entry has its own random stream, so it is made alone, on access, in about a millisecond.
package struct Corpus: RandomAccessCollection, Sendable {
    /// The end of the two years in which receipts are issued.
    package static let issuedBefore = UTCDate(2026, 7, 1)
    /// The number of purchases in a random receipt.
    package static let purchases: ClosedRange<Int64> = 1...9

    /// The authority a verifier must trust, for the environment Sandbox.
    package let pki: ForgedPKI
    /// The number of random genuine receipts before the faults.
    package let genuineReceipts: Int
    let seed: UInt64

    /// Creates a corpus that depends on `seed` alone; a larger one begins with the same receipts.
    package init(seed: UInt64, genuineReceipts: Int) {
        self.seed = seed
        self.genuineReceipts = genuineReceipts
        pki = ForgedPKI(seed: seed)
    }

    package var startIndex: Int { 0 }

    package var endIndex: Int { genuineReceipts + Fault.allCases.count }

    package subscript(position: Int) -> CorpusEntry {
        precondition(indices.contains(position), "the corpus has \(count) entries")
        return position < genuineReceipts
            ? genuineEntry(number: position + 1)
            : faultEntry(Fault.allCases[position - genuineReceipts])
    }

    private func genuineEntry(number: Int) -> CorpusEntry {
        var generator = SplitMix64(seed: seed, purpose: "receipt \(number)")
        let purchases = Int(generator.number(in: Self.purchases))
        let contents = ReceiptContents.random(using: &generator, purchases: purchases)
        return CorpusEntry(
            name: "genuine-" + String(number), evidence: .der(pki.sign(contents)), expected: .genuine,
            contents: .init(contents), fault: nil, explanation: "A random genuine receipt.")
    }

    private func faultEntry(_ fault: Fault) -> CorpusEntry {
        let forge = FaultForge(pki: pki)
        return CorpusEntry(
            name: "fault-" + fault.name, evidence: forge.evidence(with: fault), expected: fault.expected,
            contents: forge.contents(with: fault).map { .init($0) }, fault: fault, explanation: fault.explanation)
    }
}

/// One receipt of a corpus and its only correct answer.
package struct CorpusEntry: Sendable {
    /// The fields that a verifier must read from a genuine receipt.
    package struct Contents: Sendable, Hashable {
        package let bundleID: String
        package let purchases: Int
        /// `Sandbox` or `Production`.
        package let environment: String

        init(_ contents: ReceiptContents) {
            bundleID = contents.bundleID
            purchases = contents.purchases.count
            environment = contents.receiptType.hasSuffix("Sandbox") ? "Sandbox" : "Production"
        }
    }

    /// A name that is unique in its corpus and fit for a file.
    package let name: String
    package let evidence: ForgedEvidence
    package let expected: ExpectedAnswer
    /// Nil unless the answer is genuine.
    package let contents: Contents?
    /// Nil for a random genuine receipt.
    package let fault: Fault?
    package let explanation: String

    package var fileName: String { name + ".b64" }
}
