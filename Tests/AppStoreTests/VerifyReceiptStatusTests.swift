// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import AppStore

struct VerifyReceiptStatusTests {
    typealias Status = VerifyReceiptStatus

    @Test func `each number keeps its number`() {
        for code in [-1, 0, 1] + Array(20_999...21_201) {
            let status = Status(code: code)
            #expect(status.code == code)
            #expect(status.explanation.hasSuffix("."))
        }
    }

    @Test func `only two statuses confirm a receipt`() {
        #expect((0...30_000).filter { Status(code: $0).confirmsReceipt } == [0, 21006])
    }

    @Test func `labels are a closed set`() {
        let labels = Set((0...30_000).map { Status(code: $0).label })
        #expect(labels == Set(["0", "211xx", "unknown"] + (21000...21010).map(String.init)))
    }
}
