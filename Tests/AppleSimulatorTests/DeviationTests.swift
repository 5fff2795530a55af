// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Answers that are JSON and wrong.
struct DeviationTests {
    private func answer(_ fault: String) throws -> AppleAnswer {
        try TestStore("faults: [{fault: \(fault)}]").answer(to: Samples.receipt())
    }

    @Test(arguments: [21002, 21003, 21005, 21009, 21100, 21199])
    func `a status can stand alone`(status: Int) throws {
        #expect(try answer("{receipt_status: \(status)}").members as? [String: Int] == ["status": status])
    }

    @Test(arguments: ["is_retryable: true", "is_retryable: 1", "is-retryable: false", "is-retryable: 0"])
    func `whether to ask again is spelled as in the scenario`(spelling: String) throws {
        let store = try TestStore("faults: [{fault: {receipt_status: {status: 21104, \(spelling)}}}]")
        guard case .answer(let answer) = store.performance(of: "{}").reply else { throw NoAnswer() }
        let (name, value) = (spelling.prefix(12), spelling.dropFirst(14))
        #expect(String(buffer: answer.body) == "{\"status\":21104,\"\(name)\":\(value)}")
    }

    @Test func `a refusal can carry the receipt`() throws {
        let answer = try answer("{receipt_status: {status: 21003, with_receipt: true}}")
        #expect(answer.status == 21003 && answer.receipt["bundle_id"] as? String == "com.example.app")
    }

    @Test func `the environment can be the wrong one`() throws {
        let answer = try answer("wrong_environment")
        #expect(answer.status == 0 && answer.environment == "Sandbox")
        #expect(answer.receipt["receipt_type"] as? String == "Production")
    }

    @Test func `a tampered end is not the signed one`() throws {
        let answer = try answer("{tampered: expires_2099}")
        #expect((answer.newest["expires_date"] as? String)?.hasPrefix("2099-") == true)
        let signed = try answer.latestReceipt(at: ManualClock().now).purchases.compactMap(\.expiresDate).max()
        #expect(signed?.description == "2026-07-11T12:00:00Z")
    }

    @Test func `a tampered bundle ID is not the signed one`() throws {
        let answer = try answer("{tampered: other_bundle_id}")
        #expect(answer.receipt["bundle_id"] as? String == "com.example.other")
        #expect(try answer.latestReceipt(at: ManualClock().now).bundleID == "com.example.app")
    }

    @Test func `a lie leaves no trace in the next answer`() throws {
        let store = try TestStore("faults: [{requests: 1, fault: {tampered: other_bundle_id}}]")
        _ = try store.answer(to: Samples.receipt())
        #expect(try store.answer(to: Samples.receipt()).receipt["bundle_id"] as? String == "com.example.app")
    }
}
