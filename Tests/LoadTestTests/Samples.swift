// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge

@testable import LoadTest

extension TestBench {
    /// Made once: finding primes is what takes time.
    static let sample: TestBench = {
        guard let bench = try? TestBench(seed: 1) else { preconditionFailure("no implementation can be set up") }
        return bench
    }()
}

extension SampleReceipts {
    /// Two receipts of three purchases.
    static let two: SampleReceipts = {
        let samples = try? SampleReceipts(count: 2, purchases: 3, signedBy: TestBench.sample.pki, seed: 1)
        guard let samples else { preconditionFailure("no samples can be made") }
        return samples
    }()
}
