// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A set of receipts to test and measure verifiers with: random genuine ones, then every fault once.
///
/// A collection, so that one entry can be made without those before it: each has a random stream of its own. Entries
/// are made when asked for, about a millisecond each.
public struct Corpus: RandomAccessCollection, Sendable {
    /// Receipts are issued in the two years before 1 July 2026.
    public static let issuedBefore = UTCDate(2026, 7, 1)
    /// Purchases in a random receipt.
    public static let purchases: ClosedRange<Int64> = 1...9

    /// The authority a verifier must trust, for the environment Sandbox.
    public let pki: ForgedPKI
    /// How many random genuine receipts come before the faults.
    public let genuineReceipts: Int
    let seed: UInt64

    /// A corpus that follows from `seed` alone; a larger one begins with the same receipts.
    public init(seed: UInt64, genuineReceipts: Int) {
        self.seed = seed
        self.genuineReceipts = genuineReceipts
        pki = ForgedPKI(seed: seed)
    }

    /// The first entry.
    public var startIndex: Int { 0 }

    /// One past the last fault.
    public var endIndex: Int { genuineReceipts + Fault.allCases.count }

    /// Makes the entry at `position`.
    public subscript(position: Int) -> CorpusEntry {
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
