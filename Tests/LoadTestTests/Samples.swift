// SPDX-License-Identifier: Apache-2.0

import ReceiptForge

@testable import LoadTest

extension TestBench {
    /// Made once: finding primes is what takes time.
    static let pki = ForgedPKI(seed: 1)
    static let sample: TestBench = {
        guard let bench = try? TestBench(.receipts(pki)) else {
            preconditionFailure("no implementation can be set up")
        }
        return bench
    }()

    static func of(_ evidence: ForgedEvidenceKind) throws -> TestBench {
        switch evidence {
        case .receipt: sample
        case .jws: try TestBench(.transactions(transactionPKI))
        case .transactionReceipt: try TestBench(.transactionReceipts(pki))
        case .notification: try TestBench(.notifications(transactionPKI))
        }
    }

    // Made once: each has other certificates, because no two ECDSA signatures are alike.
    static let transactionPKI = TransactionPKI(seed: 1)
}

extension SampleReceipts {
    /// Two receipts of three purchases.
    static let two: SampleReceipts = {
        let samples = try? SampleReceipts(count: 2, purchases: 3, signedBy: TestBench.sample.authority, seed: 1)
        guard let samples else { preconditionFailure("no samples can be made") }
        return samples
    }()

    static func two(_ evidence: ForgedEvidenceKind) throws -> SampleReceipts {
        try SampleReceipts(count: 2, purchases: 1, signedBy: TestBench.of(evidence).authority, seed: 1)
    }
}
