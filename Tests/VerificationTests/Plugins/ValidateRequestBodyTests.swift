// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import NIOCore
import Testing

@testable import API
@testable import HTTPServer
@testable import ServerTestSupport

/// Bodies of the plugins' requests as they are read.
struct ValidateRequestBodyTests {
    @Test func `a body of the plugin is read, whatever else is in it`() throws {
        let body = #"""
            {"id":"com.example.shop","type":"application","products":[{"id":"a","offers":[{"id":"$","pricingPhases":
             [{"price":"$1","priceMicros":1e6,"recurrenceMode":"INFINITE_RECURRING"}]}]}],"device":{"isVirtual":false,
             "model":null},"additionalData":{"applicationUsername":42,"obfuscatedUsername":"x"},
             "transaction":{"id":"appstore.application","type":"ios-appstore","appStoreReceipt":"AQID","x":{}}}
            """#
        let request = try ValidateEndpoint().request(in: body)
        #expect(request.subject == .evidence(.appReceipt([1, 2, 3])))
        #expect(request.options.expectations.bundleID == "com.example.shop" && request.options.account == nil)
        #expect(request.options.mode == .auto && !request.options.wantsHistory && request.options.maximumAge == nil)
    }

    @Test(arguments: [
        #"{"type":"apple-sk2","jwsRepresentation":"eyJ.b.c"}"#,
        #"{"jwsRepresentation":" eyJ.b.c\n","type":"apple-sk2","appStoreReceipt":null}"#,
        #"{"type":"ios-appstore","appStoreReceipt":"eyJ.b.c"}"#,
    ])
    func `a signed transaction is answered with the whole history of the last minute`(transaction: String) throws {
        let request = try ValidateEndpoint().request(in: #"{"transaction":\#(transaction)}"#)
        #expect(request.options.maximumAge == .seconds(60))
        #expect(request.subject == .evidence(.jws(Array("eyJ.b.c".utf8))) && request.options.wantsHistory)
    }

    @Test(
        arguments: [
            (#""id":"com.example.shop","type":"application""#, "com.example.shop"), (#""id":"gold""#, nil),
            (#""id":"gold","type":"consumable""#, nil), (#""id":"","type":"application""#, nil),
            (#""id":7,"type":"application""#, nil), (#""type":"application""#, nil),
        ] as [(String, String?)])
    func `only the ID of an app is an expectation`(members: String, bundleID: String?) throws {
        let transaction = #""transaction":{"type":"apple-sk2","jwsRepresentation":"eyJ.b.c"}"#
        #expect(
            try ValidateEndpoint().request(in: "{\(members),\(transaction)}").options.expectations.bundleID == bundleID)
    }

    @Test(
        arguments: [
            ("{", "truncated", nil), ("[]", "not_an_object", nil), ("{}", "missing_field", "transaction"),
            (#"{"transaction":null}"#, "wrong_type", "transaction"), (#"{"transaction":{}}"#, "missing_field", "type"),
            (#"{"transaction":{"type":7}}"#, "missing_field", "type"),
            (#"{"transaction":{"type":"android-playstore"}}"#, "value_not_accepted", "type"),
            (#"{"transaction":{"type":"ios-appstore"}}"#, "missing_field", "appStoreReceipt"),
            (#"{"transaction":{"type":"apple-sk2","appStoreReceipt":"AQID"}}"#, "missing_field", "jwsRepresentation"),
            (#"{"transaction":{"type":"ios-appstore","appStoreReceipt":1}}"#, "wrong_type", "appStoreReceipt"),
            (
                #"{"transaction":{"type":"ios-appstore","appStoreReceipt":"A"}}"#, "base64_missing_padding",
                "appStoreReceipt"
            ),
            (#"{"transaction":{"type":"ios-appstore","appStoreReceipt":"AQID"}}x"#, "trailing_data", nil),
            (deep, "too_deep", nil), (many, "too_many_values", nil), (long, "too_much_skipped", nil),
        ] as [(String, String, String?)])
    func `a fault is named with its member`(body: String, fault: String, field: String?) throws {
        let error = #expect(throws: (any Error).self) { try ValidateEndpoint().request(in: body) }
        let problem = Problem(try #require(error))
        #expect(problem.code == .invalidBody && problem.fault == fault && problem.field == field, "\(problem)")
    }

    private static let deep = #"{"x":\#(String(repeating: "[", count: 17))\#(String(repeating: "]", count: 17))}"#
    private static let many = "{\((0...128).map { #""x\#($0)":1"# }.joined(separator: ","))}"
    private static let long = "{\"x\":[\(Array(repeating: "1", count: 512 << 10).joined(separator: ","))]}"

    // MARK: - OpenIAP

    @Test(
        arguments: [
            ("", nil), (#","expectedProductId":null"#, nil),
            (#","expectedProductId":"pro","includeClientPayload":true"#, "pro"),
        ]
            as [(String, String?)])
    func `a body of OpenIAP is read`(more: String, product: String?) throws {
        let body = #"{"store":"apple","jws":"eyJ.b.c"\#(more)}"#
        let request = try PurchaseVerifyEndpoint().request(in: body)
        #expect(request.subject == .evidence(.jws(Array("eyJ.b.c".utf8))))
        #expect(request.options.expectedProductID == product && request.options.wantsPresentState)
        #expect(!request.options.wantsHistory)
    }

    @Test(arguments: [
        ("{}", "missing_field", "store"), (#"{"store":"google","purchaseToken":"x"}"#, "value_not_accepted", "store"),
        (#"{"store":"apple"}"#, "missing_field", "jws"), (#"{"store":"apple","jws":1}"#, "wrong_type", "jws"),
        (#"{"store":"apple","jws":"a","expectedProductId":1}"#, "wrong_type", "expectedProductId"),
        (#"{"store":"apple","jws":null}"#, "missing_field", "jws"),
    ])
    func `a fault in a body of OpenIAP is named with its member`(body: String, fault: String, field: String) throws {
        let error = #expect(throws: JSONFault.self) { try PurchaseVerifyEndpoint().request(in: body) }
        #expect(error?.rule.name == fault && error?.field == field)
    }
}
