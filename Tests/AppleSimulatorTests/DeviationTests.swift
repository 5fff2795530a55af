// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Receipts
import Testing

@testable import AppleSimulator

/// Answers that are valid JSON and wrong.
struct DeviationTests {
    private func answer(_ fault: String) throws -> AppleAnswer {
        try TestStore("faults: [{fault: \(fault)}]").answer(to: Samples.receipt())
    }

    @Test(arguments: [21002, 21003, 21005, 21009, 21100, 21199])
    func `a status can be the only member`(status: Int) throws {
        #expect(try answer("{receipt_status: \(status)}").members as? [String: Int] == ["status": status])
    }

    @Test(arguments: ["is_retryable: true", "is_retryable: 1", "is-retryable: false", "is-retryable: 0"])
    func `the retry flag is spelled as in the scenario`(spelling: String) throws {
        let store = try TestStore("faults: [{fault: {receipt_status: {status: 21104, \(spelling)}}}]")
        guard case .answer(let answer) = store.response(to: "{}").reply else { throw NoAnswer() }
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
        #expect(answer.newest["expires_date"]?.hasPrefix("2099-") == true)
        let signed = try answer.latestReceipt(at: ManualClock().now).purchases.compactMap(\.expiresDate).max()
        #expect(signed?.description == "2026-07-11T12:00:00Z")
    }

    @Test func `a tampered bundle ID is not the signed one`() throws {
        let answer = try answer("{tampered: other_bundle_id}")
        #expect(answer.receipt["bundle_id"] as? String == "com.example.other")
        #expect(try answer.latestReceipt(at: ManualClock().now).bundleID == "com.example.app")
    }

    @Test func `a latest receipt can be Apple's and for another request`() throws {
        let other = try answer("{latest_receipt: of_other_app}").latestReceipt(at: ManualClock().now)
        #expect(other.bundleID == "com.example.other")
        let older = try answer("{latest_receipt: older}").latestReceipt(at: ManualClock().now)
        #expect(
            older.creationDate
                < (try TestStore("").answer(to: Samples.receipt()).latestReceipt(at: ManualClock().now)).creationDate)
    }

    @Test func `a latest receipt can be signed by a stranger, anything, or missing`() throws {
        func text(_ replacement: String) throws -> String? {
            try answer("{latest_receipt: \(replacement)}").members["latest_receipt"] as? String
        }
        #expect(try text("missing") == nil)
        #expect(try text("broken_base64").map { $0.utf8.count % 4 } == 3)
        #expect(try text("junk").map { $0.utf8.count > 6_600_000 } == true)
        let stranger = try answer("{latest_receipt: signed_by_stranger}")
        #expect(throws: ReceiptError(.anchorUntrusted)) { try stranger.latestReceipt(at: ManualClock().now) }
    }

    @Test func `content codings have the checksums that their standards give`() {
        #expect(ContentCoding.crc32(of: Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(ContentCoding.adler32(of: Array("Wikipedia".utf8)) == 0x11E6_0398)
        #expect(
            ContentCoding.gzip.encode("a".utf8) == [
                0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 1, 0, 0xFE, 0xFF, 0x61, 0x43, 0xBE, 0xB7, 0xE8, 1, 0, 0, 0,
            ])
        #expect(
            ContentCoding.deflate.encode("a".utf8) == [0x78, 1, 1, 1, 0, 0xFE, 0xFF, 0x61, 0, 0x62, 0, 0x62])
    }

    @Test func `a manipulation does not affect the next answer`() throws {
        let store = try TestStore("faults: [{requests: 1, fault: {tampered: other_bundle_id}}]")
        _ = try store.answer(to: Samples.receipt())
        #expect(try store.answer(to: Samples.receipt()).receipt["bundle_id"] as? String == "com.example.app")
    }
}
