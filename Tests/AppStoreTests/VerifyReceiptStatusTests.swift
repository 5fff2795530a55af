// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import AppStore

struct VerifyReceiptStatusTests {
    typealias Status = VerifyReceiptStatus

    @Test(arguments: [
        (0, Status.Meaning.genuine), (21000, .ourMistake), (21001, .ourMistake), (21002, .malformed),
        (21003, .notAuthenticated), (21004, .credentials), (21005, .unavailable), (21006, .expired),
        (21007, .ask(.sandbox)), (21008, .ask(.production)), (21009, .unavailable), (21010, .accountGone),
        (21011, .unknown), (21099, .unknown), (21100, .unavailable), (21199, .unavailable), (21200, .unknown),
        (-1, .unknown), (1, .unknown),
    ])
    func `each number has its meaning, and keeps its number`(code: Int, meaning: Status.Meaning) {
        let status = Status(code: code)
        #expect(status.code == code && status.meaning == meaning)
        #expect(status.description.hasPrefix("\(code): ") && status.description.hasSuffix("."))
    }

    @Test func `only two statuses confirm a receipt`() {
        #expect((0...30_000).filter { Status(code: $0).vouchesForReceipt } == [0, 21006])
    }

    @Test func `Apple's failures are retryable`() {
        let retryable = { (appleSays: Bool?, verifiedLocally: Bool) in
            (21000...21200).filter {
                Status(code: $0).isRetryable(appleSays: appleSays, verifiedLocally: verifiedLocally)
            }
        }
        #expect(retryable(nil, false) == [21005, 21009])
        #expect(retryable(false, true) == [21002, 21003, 21005, 21009])
        #expect(retryable(true, false) == [21005, 21009] + Array(21011...21200))
        #expect(!Status.valid.isRetryable(appleSays: true, verifiedLocally: true))
    }

    @Test func `labels are a closed set`() {
        let labels = Set((0...30_000).map { Status(code: $0).label })
        #expect(labels == Set(["0", "211xx", "unknown"] + (21000...21010).map(String.init)))
    }
}
