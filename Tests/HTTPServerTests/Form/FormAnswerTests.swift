// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import API
@testable import HTTPServer

/// Answers of the form API, made from bodies of `verifyReceipt`.
struct FormAnswerTests {
    @Test func `members of Apple's answer are passed on, and latest_receipt_info stands in two places`() throws {
        let body = """
            {"latest_receipt_info":[{"a":"1"}], "environment":"Sandbox", "status":0, "unknown":{"x":[1,2]},
             "receipt" : {"bundle_id":"b", "in_app":[]}, "latest_receipt":"AQID",
             "pending_renewal_info":[{"auto_renew_status":"1"}]}
            """
        let expected = """
            {"status":0,"description":"Receipt valid","environment":"Sandbox",
             "receipt":{"bundle_id":"b","in_app":[],"latest_receipt_info":[{"a":"1"}]},
             "latest_receipt_info":[{"a":"1"}],"latest_receipt":"AQID","pending_renewal_info":[{"auto_renew_status":"1"}]}
            """
        #expect(try answer(body) == json(expected))
    }

    @Test(arguments: [
        (#"{"receipt":{}}"#, #"{"status":0,"description":"Receipt valid","receipt":{}}"#),
        (
            #"{"receipt":{ },"latest_receipt_info":[1]}"#,
            #"{"status":0,"description":"Receipt valid","receipt":{"latest_receipt_info":[1]},"latest_receipt_info":[1]}"#
        ),
        (
            #"{"receipt":{"latest_receipt_info":{"own":1}},"latest_receipt_info":[2]}"#,
            #"""
            {"status":0,"description":"Receipt valid","receipt":{"latest_receipt_info":{"own":1}},"latest_receipt_info":[2]}
            """#
        ),
        (
            #"{"receipt":{"a\u0022b":"\\\"}{"},"latest_receipt_info":[]}"#,
            #"""
            {"status":0,"description":"Receipt valid",
             "receipt":{"a\"b":"\\\"}{","latest_receipt_info":[]},"latest_receipt_info":[]}
            """#
        ),
    ]) func `the receipt keeps its members`(body: String, expected: String) throws {
        #expect(try answer(body) == json(expected))
    }

    @Test(arguments: ["", "[]", "{}", #"{"status":0}"#, #"{"receipt":{"#])
    func `there is no answer without a receipt`(body: String) {
        #expect(success(body) == nil)
    }

    @Test func `only a success begins like one`() {
        #expect(success(#"{"receipt":{}}"#)?.starts(with: FormAnswer.successPrefix) == true)
        for status in [401, 403, 500, 21002, 21010] {
            #expect(!Reply.form(status, "text").body.bytes.starts(with: FormAnswer.successPrefix))
        }
    }

    private func success(_ body: String) -> [UInt8]? {
        let bytes = Array(body.utf8)
        return FormAnswer.success(from: bytes.span)
    }

    private func answer(_ body: String) throws -> NSDictionary {
        let bytes = try #require(success(body))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
    }

    private func json(_ text: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }
}
