// SPDX-License-Identifier: Apache-2.0

import JSON
import Testing

@testable import AppStore

enum AdvancedCommerceSamples {
    /// A request as Apple's Python library (3.1.2) writes it.
    static let ofLibrary = """
        {"requestInfo": {"requestReferenceId": "6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"}, "currency": "EUR", \
        "item": {"SKU": "course-1", "description": "F\\u00fcr Anf\\u00e4nger", "displayName": "Kurs", "price": 4990}, \
        "taxCode": "C003-00-1", "operation": "CREATE_ONE_TIME_CHARGE", "version": "1"}
        """
    static let ofLibraryInBase64 = """
        eyJyZXF1ZXN0SW5mbyI6IHsicmVxdWVzdFJlZmVyZW5jZUlkIjogIjZkM2YyYjBlLTdjMGUtNGM1Ny05YThlLTBjNmExZjlmMWExMCJ9LCAi\
        Y3VycmVuY3kiOiAiRVVSIiwgIml0ZW0iOiB7IlNLVSI6ICJjb3Vyc2UtMSIsICJkZXNjcmlwdGlvbiI6ICJGXHUwMGZjciBBbmZcdTAwZTRu\
        Z2VyIiwgImRpc3BsYXlOYW1lIjogIkt1cnMiLCAicHJpY2UiOiA0OTkwfSwgInRheENvZGUiOiAiQzAwMy0wMC0xIiwgIm9wZXJhdGlvbiI6\
        ICJDUkVBVEVfT05FX1RJTUVfQ0hBUkdFIiwgInZlcnNpb24iOiAiMSJ9
        """

    /// Returns a request with these members beside those that all requests have.
    static func request(_ operation: String, _ members: String) -> String {
        """
        {"operation":"\(operation)","version":"1",\
        "requestInfo":{"requestReferenceId":"6D3F2B0E-7C0E-4C57-9A8E-0C6A1F9F1A10"}\(members.isEmpty ? "" : ",")\(members)}
        """
    }
}

@Suite("Requests of the Advanced Commerce API that an app sends")
struct AdvancedCommerceRequestTests {
    private typealias Samples = AdvancedCommerceSamples

    @Test(
        arguments: [
            (Samples.ofLibrary, .createOneTimeCharge, ["course-1"]),
            (
                Samples.request("CREATE_SUBSCRIPTION", #""items":[{"SKU":"a"},{"SKU":"b","offer":{"price":0}}]"#),
                .createSubscription, ["a", "b"]
            ),
            (
                Samples.request(
                    "MODIFY_SUBSCRIPTION",
                    #""addItems":[{"SKU":"a"}],"changeItems":[{"currentSKU":"b","SKU":"c"}],"removeItems":[{"SKU":"d"}]"#
                ),
                .modifySubscription, ["a", "b", "c", "d"]
            ),
            (Samples.request("REACTIVATE_SUBSCRIPTION", #""transactionId":"7""#), .reactivateSubscription, []),
            // Members that are unknown here are signed, and the SKUs in them are found.
            (
                Samples.request("MODIFY_SUBSCRIPTION", #""new":{"deep":[[{"newSKU":"e"}]]},"taxCode":"S""#),
                .modifySubscription, ["e"]
            ),
            // Some readers ignore the case of names.
            (
                Samples.request("CREATE_SUBSCRIPTION", #""items":[{"SKU":"a"},{"sku":"b"},{"\u0053Ku":"c"}]"#),
                .createSubscription, ["a", "b", "c"]
            ),
        ] as [(String, AdvancedCommerceRequest.Operation, [OutsideText])])
    func `a request has its operation and all SKUs that it names`(
        json: String, operation: AdvancedCommerceRequest.Operation, skus: [OutsideText]
    ) throws {
        let request = try AdvancedCommerceRequest(Array(json.utf8))
        #expect(request.operation == operation && request.skus == Set(skus))
    }

    @Test(
        arguments: [
            ("", "empty_body", nil), ("[]", "not_an_object", nil), (#"{"operation":"#, "truncated", nil),
            ("{}", "missing_field", "operation"),
            (Samples.request("REFUND", ""), "value_not_accepted", "operation"),
            (#"{"operation":7}"#, "wrong_type", "operation"),
            (#"{"operation":"MODIFY_SUBSCRIPTION"}"#, "missing_field", "version"),
            (#"{"operation":"MODIFY_SUBSCRIPTION","version":1}"#, "wrong_type", "version"),
            (#"{"operation":"MODIFY_SUBSCRIPTION","version":"1"}"#, "missing_field", "requestInfo"),
            (
                #"{"operation":"MODIFY_SUBSCRIPTION","version":"1","requestInfo":{}}"#, "missing_field",
                "requestReferenceId"
            ),
            (
                #"{"operation":"MODIFY_SUBSCRIPTION","version":"1","requestInfo":{"requestReferenceId":"7"}}"#,
                "value_not_accepted", "requestReferenceId"
            ),
            (Samples.request("CREATE_ONE_TIME_CHARGE", #""item":{"SKU":7}"#), "value_not_accepted", "SKU"),
            (Samples.request("CREATE_ONE_TIME_CHARGE", #""item":{"SKU":""}"#), "value_not_accepted", "SKU"),
            (
                Samples.request(
                    "CREATE_ONE_TIME_CHARGE", #""item":{"SKU":"\#(String(repeating: "x", count: 257))"}"#),
                "value_not_accepted", "SKU"
            ),
            // Two readers could read two operations.
            (Samples.request("MODIFY_SUBSCRIPTION", #""operation":"CREATE_SUBSCRIPTION""#), "duplicate_field", nil),
        ] as [(String, String, String?)])
    func `anything else is refused with its fault`(json: String, fault: String, field: String?) {
        let found = #expect(throws: JSONFault.self) { try AdvancedCommerceRequest(Array(json.utf8)) }
        #expect(found?.rule.name == fault && found?.field == field)
    }

    /// To Swift's `JSONDecoder` the Kelvin sign is a K: it would find a SKU that this reader does not see.
    @Test(arguments: [#"S\#u{212A}U"#, #"S\u212AU"#, #"SKU\u0000"#, "SKU ", "S-KU", "sk\u{FF35}"])
    func `a name that another reader may take for a SKU is refused`(name: String) throws {
        let json = Samples.request("CREATE_SUBSCRIPTION", #""items":[{"SKU":"a"},{"\#(name)":"b"}]"#)
        let found = #expect(throws: JSONFault.self) { try AdvancedCommerceRequest(Array(json.utf8)) }
        #expect(found?.rule.name == "value_not_accepted" && found?.field == nil)
    }

    @Test func `a request deeper or longer than Apple's is refused`() {
        let deep = String(repeating: "[", count: 8) + String(repeating: "]", count: 8)
        for members in [#""new":\#(deep)"#, #""new":"\#(String(repeating: "x", count: 65_536))""#] {
            #expect(throws: JSONFault.self) {
                try AdvancedCommerceRequest(Array(Samples.request("MODIFY_SUBSCRIPTION", members).utf8))
            }
        }
    }
}
