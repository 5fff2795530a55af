// SPDX-License-Identifier: Apache-2.0

import Cryptography
import JSON
import Testing

@testable import API

@Suite("The body of POST /verifyReceipt")
struct VerifyReceiptRequestBodyTests {
    private typealias Limits = VerifyReceiptRequestBody.Limits

    @Test func `a secret has a maximum length`() throws {
        func secret(of count: Int) throws -> String? {
            let secret = String(repeating: "s", count: count)
            return try VerifyReceiptRequestBody(#"{"receipt-data":"","password":"\#(secret)"}"#).secret?.exposed
        }
        #expect(try secret(of: 0) == nil)
        #expect(try secret(of: 64)?.utf8.count == 64)
        #expect(throws: JSONFault.self) { try secret(of: 65) }
    }

    @Test(arguments: [" ", #"\u0000"#, #"\n"#, "é", "\u{7F}"])
    func `a secret consists of visible characters`(character: String) {
        let json = #"{"password":"s\#(character)s","receipt-data":""}"#
        #expect(throws: JSONFault(.notAccepted("visible ASCII characters"), field: "password", at: 12)) {
            try VerifyReceiptRequestBody(json)
        }
    }

    @Test func `members are counted, including those that are skipped`() throws {
        func read(_ count: Int) throws {
            let others = (1..<count).map { #","m\#($0)":0"# }.joined()
            _ = try VerifyReceiptRequestBody(#"{"receipt-data":""\#(others)}"#)
        }
        try read(Limits.members)
        #expect(throws: JSONFault.self) { try read(Limits.members + 1) }
    }

    @Test func `skipped members share one limit`() throws {
        func read(_ values: [String]) throws {
            let members = values.enumerated().map { #""m\#($0)":\#($1),"# }.joined()
            _ = try VerifyReceiptRequestBody("{" + members + #""receipt-data":""}"#)
        }
        // Two steps for each element, a value and a digit, and one for the array.
        func zeros(_ count: Int) -> String { "[" + String(repeating: "0,", count: count - 1) + "0]" }
        let most = Limits.skippedWork / 2
        try read([zeros(most - 1)])
        #expect(throws: JSONFault.self) { try read([zeros(most)]) }
        let parts = Limits.members - 1
        try read(Array(repeating: zeros(most / parts - 1), count: parts))
        let fault = #expect(throws: JSONFault.self) {
            try read(Array(repeating: zeros(most / parts + 1), count: parts))
        }
        #expect(fault?.rule == .tooMuchSkipped && fault?.field == nil)
    }

    @Test func `a skipped plain text may be sixteen times as long as an array`() throws {
        func read(_ blocks: Int) throws {
            let text = String(repeating: "0123456789abcdef", count: blocks)
            _ = try VerifyReceiptRequestBody(#"{"x":"\#(text)","receipt-data":""}"#)
        }
        try read(Limits.skippedWork - 2)
        #expect(throws: JSONFault.self) { try read(Limits.skippedWork) }
    }

    @Test func `a secret of the wrong type is skipped if it is small`() throws {
        #expect(try VerifyReceiptRequestBody(#"{"password":12,"receipt-data":""}"#).secret == nil)
        let digits = String(repeating: "1", count: Limits.noSecretWork + 1)
        #expect(throws: JSONFault.self) { try VerifyReceiptRequestBody(#"{"password":\#(digits),"receipt-data":""}"#) }
    }

    @Test(arguments: [
        ("true", true), (" \"true\" ", true), ("1", true), ("false", false), ("\"false\"", false), ("0", false),
        ("11", false), ("1.0", false), ("null", false), ("\"\"", false), ("\"1\"", false), ("[true]", false),
    ])
    func `a flag is read as clients write it`(value: String, isTrue: Bool) throws {
        let body = try VerifyReceiptRequestBody(#"{"exclude-old-transactions":\#(value),"receipt-data":""}"#)
        #expect(body.excludesOldTransactions == isTrue)
    }

    @Test func `white space around a secret is none of it`() throws {
        func secret(_ text: String) throws -> Secret? {
            try VerifyReceiptRequestBody(#"{"password":"\#(text)","receipt-data":""}"#).secret
        }
        #expect(try secret(#" 0123\n"#) == Secret("0123"))
        #expect(try secret(" ") == nil)
        #expect(throws: JSONFault.self) { try secret("01 23") }
    }

    @Test func `no fault names a member that may be a misplaced secret`() {
        for (json, field) in [
            (#"{"5ec4e7015ec4e7025ec4e7035ec4e704":x}"#, nil), (#"{"password":[1]}"#, "password"),
            (#"{"receipt-data":1}"#, "receipt-data"),
            (#"{"exclude-old-transactions":x}"#, "exclude-old-transactions"),
        ] {
            let fault = #expect(throws: JSONFault.self) { try VerifyReceiptRequestBody(json) }
            #expect(fault?.field == field)
        }
    }
}

extension VerifyReceiptRequestBody {
    fileprivate init(_ json: String) throws(JSONFault) {
        try self.init(decoding: Array(json.utf8).span)
    }
}
