// SPDX-License-Identifier: Apache-2.0

import Customers
import JSON
import Testing

@testable import API

/// The body of `POST /v1/erasures`.
@Suite struct ErasureRequestTests {
    private static func read(_ json: String) throws(JSONFault) -> ErasureRequestBody {
        let bytes = Array(json.utf8)
        return try ErasureRequestBody(decoding: bytes.span)
    }

    @Test func `a customer is named by an account, by purchases, or by both`() throws {
        let both = try Self.read(
            #"{"bundle_id":"com.example.shop","account":"4711","original_transaction_ids":["1","2"]}"#)
        #expect(both.bundleID == "com.example.shop" && both.originalTransactionIDs == ["1", "2"])
        #expect(both.account != nil)
        let account = try Self.read(#"{"bundle_id":"com.example.shop","account":"4711"}"#)
        #expect(account.originalTransactionIDs == [])
        let purchase = try Self.read(#"{"bundle_id":"com.example.shop","original_transaction_ids":["1"]}"#)
        #expect(purchase.account == nil)
    }

    @Test(arguments: [
        (#"{"account":"4711"}"#, "bundle_id"),
        (#"{"bundle_id":"com.example.shop"}"#, "original_transaction_ids"),
        (#"{"bundle_id":"com.example.shop","original_transaction_ids":[]}"#, "original_transaction_ids"),
        (#"{"bundle_id":"com.example.shop","original_transaction_ids":["no id"]}"#, "original_transaction_ids"),
        (#"{"bundle_id":"com.example.shop","original_transaction_ids":"1"}"#, "original_transaction_ids"),
        (#"{"bundle_id":"com.example.shop","account":""}"#, "account"),
        (#"{"bundle_id":"com.example.shop","account":"4711","account":"4712"}"#, "account"),
        (#"{"bundle_id":"not a bundle ID","account":"4711"}"#, "bundle_id"),
        (#"{"bundle_id":"com.example.shop","account":"4711","environment":"Sandbox"}"#, "environment"),
    ])
    func `a wrong body is refused with the field that is wrong`(json: String, field: String) throws {
        let fault = #expect(throws: JSONFault.self) { try Self.read(json) }
        #expect(fault?.field == field)
    }

    @Test func `a request has a limit of purchases`() throws {
        func body(_ count: Int) -> String {
            let ids = (1...count).map { #""\#($0)""# }.joined(separator: ",")
            return #"{"bundle_id":"com.example.shop","original_transaction_ids":[\#(ids)]}"#
        }
        let limit = ErasureSubject.Limits.chains
        let most = try Self.read(body(limit))
        #expect(most.originalTransactionIDs.count == limit)
        #expect(throws: JSONFault.self) { try Self.read(body(limit + 1)) }
    }
}
