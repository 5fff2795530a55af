// SPDX-License-Identifier: Apache-2.0

/// Evidence for testing and measuring verifiers: random genuine receipts, then every fault of receipts, signed data
/// and transaction receipts once.
///
/// Each entry has its own random stream, so it is made alone, on access, in about a millisecond.
package struct Corpus: RandomAccessCollection, Sendable {
    /// The end of the two years in which receipts are issued.
    package static let issuedBefore = UTCDate(2026, 7, 1)
    /// The number of purchases in a random receipt.
    package static let purchases: ClosedRange<Int64> = 1...9

    /// The authority a verifier must trust, for the environment Sandbox.
    package let pki: ForgedPKI
    /// The authority a verifier of signed data must trust, for the environments Sandbox and Production.
    package var transactionPKI: TransactionPKI { jwsForge.pki }
    /// The intermediates a verifier of transaction receipts must know.
    var intermediatesPEM: String { transactionReceiptForge.intermediatesPEM }
    /// The number of random genuine receipts before the faults.
    package let genuineReceipts: Int
    let seed: UInt64
    private let jwsForge: JWSForge
    private let transactionReceiptForge: TransactionReceiptForge

    /// Creates a corpus that depends on `seed` alone, except that no two ECDSA signatures are alike. A larger corpus
    /// begins with the same receipts.
    package init(seed: UInt64, genuineReceipts: Int) {
        self.seed = seed
        self.genuineReceipts = genuineReceipts
        pki = ForgedPKI(seed: seed)
        jwsForge = JWSForge(pki: TransactionPKI(seed: seed))
        transactionReceiptForge = TransactionReceiptForge(pki: pki)
    }

    package var startIndex: Int { 0 }

    package var endIndex: Int { genuineReceipts + Self.faults.count }

    package subscript(position: Int) -> CorpusEntry {
        precondition(indices.contains(position), "the corpus has \(count) entries")
        return position < genuineReceipts
            ? genuineEntry(number: position + 1) : Self.faults[position - genuineReceipts](self)
    }

    private static let faults: [@Sendable (Corpus) -> CorpusEntry] =
        ReceiptFault.allCases.map { fault in { @Sendable corpus in corpus.entry(fault) } }
        + JWSFault.allCases.map { fault in { @Sendable corpus in corpus.entry(fault) } }
        + TransactionReceiptFault.allCases.map { fault in { @Sendable corpus in corpus.entry(fault) } }

    private func genuineEntry(number: Int) -> CorpusEntry {
        var generator = SplitMix64(seed: seed, purpose: "receipt \(number)")
        let purchases = Int(generator.number(in: Self.purchases))
        let contents = ReceiptContents.random(using: &generator, purchases: purchases)
        return CorpusEntry(
            name: "genuine-" + String(number), evidence: .der(pki.sign(contents)), expected: .genuine,
            contents: .init(contents), fault: nil, explanation: "A random genuine receipt.")
    }

    private func entry(_ fault: ReceiptFault) -> CorpusEntry {
        let forge = FaultForge(pki: pki)
        return CorpusEntry(
            name: "fault-" + fault.name, evidence: forge.evidence(with: fault), expected: fault.expected,
            contents: forge.contents(with: fault).map { .init($0) }, fault: fault.name, explanation: fault.explanation)
    }

    private func entry(_ fault: JWSFault) -> CorpusEntry {
        CorpusEntry(
            name: "jws-" + fault.name, kind: JWSForge.inNotifications.contains(fault) ? .notification : .jws,
            evidence: .jws(jwsForge.evidence(with: fault)), expected: fault.expectedBelowOperatorsRoot,
            fault: fault.name, explanation: fault.explanation, needs: [Corpus.transactionRootFileName])
    }

    private func entry(_ fault: TransactionReceiptFault) -> CorpusEntry {
        CorpusEntry(
            name: "transaction-receipt-" + fault.name, kind: .transactionReceipt,
            evidence: .der(transactionReceiptForge.evidence(with: fault)), expected: fault.expected, fault: fault.name,
            explanation: fault.explanation,
            needs: [Corpus.rootFileName, Corpus.intermediatesFileName]
                + (fault.acceptsVersion2 ? ["gateway.trust.transaction_receipts_v2"] : []))
    }
}

extension Corpus {
    static let rootFileName = "root.pem"
    static let transactionRootFileName = "jws-root.pem"
    static let intermediatesFileName = "intermediates.pem"
}

/// One piece of evidence of a corpus and its only correct answer.
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
    package var kind = ForgedEvidenceKind.receipt
    package internal(set) var evidence: ForgedEvidence
    package let expected: ExpectedAnswer
    /// Nil unless the answer is genuine, and for all but app receipts.
    package var contents: Contents?
    /// The fault's name; nil for a random genuine receipt.
    package let fault: String?
    package let explanation: String
    /// The files, and the setting, with which a verifier gives this answer. The two roots have one name, so a verifier
    /// that trusts both finds other faults in some chains.
    package var needs = [Corpus.rootFileName]

    package var fileName: String { name + (kind.isJWS ? ".jws" : ".b64") }
}

/// The kinds of evidence that a client or Apple can send.
package enum ForgedEvidenceKind: String, CaseIterable, Encodable, Sendable {
    case receipt, jws
    case transactionReceipt = "transaction-receipt"
    /// A server notification of version 2: a JWS with further JWS inside.
    case notification

    /// True for a JWS, which is text.
    package var isJWS: Bool { self == .jws || self == .notification }
}
