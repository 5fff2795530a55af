// SPDX-License-Identifier: Apache-2.0

import Gateway
@testable import JSON
import Receipts
import Testing

@testable import API

@Suite("The body of POST /v1/verify")
struct VerifyRequestBodyTests {
    @Test func `every field is read`() throws {
        let json = """
            {"receipt": "AQID", "bundle_id": "com.example.app", "mode": "local", "max_age": 60,
             "exclude_old_transactions": true, "latest_receipt": true, "app_version": "1.2",
             "device_identifier": "qrvM", "include": ["unknown"]}
            """
        let body = try VerifyRequestBody(json)
        #expect(body.options.expectations.bundleID == "com.example.app")
        #expect(body.options.mode == .local)
        #expect(body.options.maximumAge == .seconds(60))
        #expect(body.options.excludesOldTransactions && body.options.wantsLatestReceipt && body.options.includesUnknown)
        #expect(body.options.expectations.applicationVersion == "1.2")
        #expect(body.receipt == .decoded([1, 2, 3]))
        #expect(try body.deviceIdentifier?.text(in: json) == "qrvM")
    }

    @Test func `only the receipt is required`() throws {
        let body = try VerifyRequestBody(#"{"receipt":""}"#)
        #expect(body.signedTexts == nil)
        #expect(body.options.expectations.bundleID == nil)
        #expect(body.options.mode == .auto)
        #expect(body.options.maximumAge == nil)
        #expect(!body.options.excludesOldTransactions && !body.options.wantsLatestReceipt)
        #expect(!body.options.includesUnknown)
        #expect(try !VerifyRequestBody(#"{"receipt":"","include":[]}"#).options.includesUnknown)
    }

    @Test(arguments: [#""unknown""#, #"["known"]"#, #"["unknown","unknown"]"#, "[1]", "null", "[["])
    func `nothing else can be included`(list: String) {
        #expect(throws: JSONFault.self) { _ = try VerifyRequestBody(#"{"receipt":"","include":\#(list)}"#) }
    }

    @Test(arguments: [1, 2, 3, 4, 11, 12, 13, 8191])
    func `a receipt is decoded while it is read`(byteCount: Int) throws {
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ $0 >> 8) }
        var base64: [UInt8] = []
        Base64.append(encoding: bytes, to: &base64)
        let text = String(decoding: base64, as: UTF8.self)
        let body = try VerifyRequestBody(#" { "receipt" : "\#(text)" , "max_age" : 7 } "#)
        #expect(body.receipt == .decoded(bytes) && body.options.maximumAge == .seconds(7))
    }

    @Test(arguments: [
        "", " QUJD", "QUJD ", "QU JD   QUJD", #"QUJD\nQUJD"#, #"QUJD\/UJD"#, "QUJ", "QUJDQ===", "QUJDRB==",
        "QUJDQQ==QUJD", "QU-_",
        "QUJé", "eyJhbGciOiJFUzI1NiJ9", "eyJhbGciOiJFUzI1NiJ9.e30.AA",
    ])
    func `a receipt with escapes, white space or a fault is left in the body, and so is a JWS`(text: String) throws {
        let body = try VerifyRequestBody(#"{"receipt":"\#(text)"}"#)
        let range = 12..<12 + text.utf8.count
        #expect(body.receipt == .text(JSONText(range: range, isEscaped: text.contains("\\"))))
    }

    @Test(arguments: [
        (#"a\/b"#, "a/b"), (#"a\u002Bb"#, "a+b"), (#"a\r\nb"#, "a\r\nb"), (#"\"\\\b\f\t"#, "\"\\\u{8}\u{C}\t"),
        (#"\u00e9\u20AC\ud83d\ude00"#, "é€😀"), ("é€😀", "é€😀"),
        ("0123456789abcdef\\/0123456789abcdef", "0123456789abcdef/0123456789abcdef"),
    ])
    func `escapes are resolved`(escaped: String, expected: String) throws {
        let json = #"{"receipt":"\#(escaped)"}"#
        guard case .text(let text) = try VerifyRequestBody(json).receipt else {
            Issue.record("decoded")
            return
        }
        #expect(try text.text(in: json) == expected)
    }

    @Test func `the length of a text is that without escapes`() throws {
        let escaped = String(repeating: #"\u00e9"#, count: 128)
        let body = try VerifyRequestBody(#"{"receipt":"","account":"\#(escaped)"}"#)
        #expect(body.options.account?.id == String(repeating: "é", count: 128))
    }

    @Test func `names may be escaped too, and are still the same field`() {
        let json = #"{"receipt":"","receip\u0074":""}"#
        #expect(throws: JSONFault(.duplicateField, field: "receipt", at: 15)) { try VerifyRequestBody(json) }
    }

    @Test(arguments: faults)
    func `a fault is named with its field and position`(json: String, fault: JSONFault) {
        #expect(throws: fault) { try VerifyRequestBody(json) }
    }

    @Test(arguments: byteFaults)
    func `bytes that are not UTF-8 are found`(bytes: [UInt8], position: Int) {
        let json = Array(#"{"bundle_id":""#.utf8) + bytes + Array(#"","receipt":""}"#.utf8)
        #expect(throws: JSONFault(.invalidUTF8, field: "bundle_id", at: position)) {
            try VerifyRequestBody(bytes: json)
        }
    }

    @Test func `a body cut short anywhere is truncated, never accepted`() throws {
        let json = Array(#"{"receipt":"A\/\u00e9","max_age":10,"exclude_old_transactions":false}"#.utf8)
        _ = try VerifyRequestBody(bytes: json)
        for count in 1..<json.count {
            let fault = #expect(throws: JSONFault.self) { try VerifyRequestBody(bytes: Array(json[..<count])) }
            #expect(fault?.rule == .truncated, "cut at \(count)")
        }
    }

    // MARK: - Signed items

    @Test func `signed items are read, and left in the body`() throws {
        let json = """
            {"signed_transactions": ["a.b.c", "d\\u002Ee.f"], "signed_renewal_infos": ["g"], "app_transaction": "h",
             "partial": true, "bundle_id": "com.example.app"}
            """
        let texts = try #require(try VerifyRequestBody(json).signedTexts)
        #expect(try texts.transactions.map { try $0.text(in: json) } == ["a.b.c", "d.e.f"])
        #expect(try texts.renewalInfos.map { try $0.text(in: json) } == ["g"])
        #expect(try texts.appTransaction?.text(in: json) == "h")
        #expect(texts.acceptsPart)
    }

    @Test func `only the transactions are required`() throws {
        let texts = try #require(try VerifyRequestBody(#"{"signed_transactions":[""]}"#).signedTexts)
        #expect(texts.transactions.count == 1 && texts.renewalInfos.isEmpty)
        #expect(texts.appTransaction == nil && !texts.acceptsPart)
        let none = try VerifyRequestBody(#"{"signed_renewal_infos":[],"signed_transactions":[""]}"#).signedTexts
        #expect(none?.renewalInfos.isEmpty == true)
    }

    @Test(arguments: conflicts)
    func `exactly one kind of evidence is accepted, with the fields that belong to it`(
        json: String, field: String, rule: JSONFault.Rule
    ) {
        // The conflict is known once the whole body was read.
        #expect(throws: JSONFault(rule, field: field, at: json.utf8.count)) { try VerifyRequestBody(json) }
    }

    private static let conflicts: [(String, String, JSONFault.Rule)] = [
        (#"{"receipt":"","signed_transactions":[""]}"#, "receipt", apart),
        (#"{"signed_transactions":[""],"receipt":""}"#, "receipt", apart),
        (#"{"receipt":"","signed_renewal_infos":[""]}"#, "signed_renewal_infos", together),
        (#"{"receipt":"","signed_renewal_infos":[]}"#, "signed_renewal_infos", together),
        (#"{"receipt":"","app_transaction":""}"#, "app_transaction", together),
        (#"{"receipt":"","partial":false}"#, "partial", together),
        (#"{"signed_renewal_infos":[""]}"#, "receipt", otherForm),
        (#"{"app_transaction":"","partial":true}"#, "receipt", otherForm),
        (
            #"{"signed_transactions":[]}"#, "signed_transactions",
            .notAccepted(#"a list of at least one signed transaction, unless "app_transaction" is sent"#)
        ),
    ]

    // MARK: - Transaction IDs

    @Test(arguments: ["0", "2000000123456789", "12345678901234567890123456789012", "704aBz", "aBz7"])
    func `an ID has letters and digits`(id: String) throws {
        let body = try VerifyRequestBody(#"{"transaction_id":"\#(id)","mode":"apple","max_age":1,"bundle_id":"a"}"#)
        guard case .transactionID(id) = body.subject else {
            Issue.record("\(body.subject)")
            return
        }
        #expect(body.options.mode == .apple && body.options.maximumAge == .seconds(1))
    }

    @Test(arguments: [
        "123456789012345678901234567890123", "1-2", "1 2", "é", "١", " 1", "1\\u0000", "../1", "1%32", "abc",
    ])
    func `another text is not an ID`(id: String) {
        let fault = #expect(throws: JSONFault.self) { try VerifyRequestBody(#"{"transaction_id":"\#(id)"}"#) }
        let rule = JSONFault.Rule.notAccepted("1 to 32 letters and digits, with at least one digit")
        #expect(fault == JSONFault(rule, field: "transaction_id", at: 18))
    }

    @Test(arguments: [
        (#"{"transaction_id":""}"#, JSONFault(.notAccepted("a non-empty text"), field: "transaction_id", at: 18)),
        (#"{"transaction_id":12}"#, wrongType(.string, .number, "transaction_id", 18)),
        (#"{"transaction_id":["1"]}"#, wrongType(.string, .array, "transaction_id", 18)),
        (#"{"transaction_id":"1","transaction_id":"1"}"#, JSONFault(.duplicateField, field: "transaction_id", at: 23)),
    ])
    func `an ID is one text`(json: String, fault: JSONFault) {
        #expect(throws: fault) { try VerifyRequestBody(json) }
    }

    @Test(arguments: [
        (#""receipt":"""#, "receipt"), (#""signed_transactions":[""]"#, "signed_transactions"),
        (#""signed_renewal_infos":[]"#, "signed_renewal_infos"), (#""app_transaction":"""#, "app_transaction"),
        (#""partial":false"#, "partial"), (#""latest_receipt":false"#, "latest_receipt"),
        (#""app_version":"1""#, "app_version"), (#""device_identifier":"""#, "device_identifier"),
    ])
    func `an ID is sent without evidence and its expectations`(member: String, field: String) {
        for json in [#"{"transaction_id":"1",\#(member)}"#, #"{\#(member),"transaction_id":"1"}"#] {
            let rule = JSONFault.Rule.notAccepted(#"absent beside "transaction_id""#)
            #expect(throws: JSONFault(rule, field: field, at: json.utf8.count)) { try VerifyRequestBody(json) }
        }
    }

    private static let apart = JSONFault.Rule.notAccepted(#"absent beside "signed_transactions""#)
    private static let together = JSONFault.Rule.notAccepted(#"sent together with "signed_transactions""#)

    @Test(arguments: ["signed_transactions", "signed_renewal_infos"])
    func `a list has 200 items at most`(field: String) throws {
        func json(_ count: Int) -> String {
            let list = Array(repeating: #""""#, count: count).joined(separator: ",")
            let other = field == "signed_transactions" ? "" : #""signed_transactions":[""],"#
            return #"{\#(other)"\#(field)":[\#(list)]}"#
        }
        let texts = try #require(try VerifyRequestBody(json(200)).signedTexts)
        #expect(max(texts.transactions.count, texts.renewalInfos.count) == 200)
        let fault = #expect(throws: JSONFault.self) { try VerifyRequestBody(json(201)) }
        #expect(fault?.rule == .tooManyValues(maximum: 200) && fault?.field == field)
    }

    @Test(arguments: [
        (#"{"signed_transactions":"a"}"#, wrongType(.array, .string, "signed_transactions", 23)),
        (#"{"signed_transactions":null}"#, wrongType(.array, .null, "signed_transactions", 23)),
        (#"{"signed_transactions":[1]}"#, wrongType(.string, .number, "signed_transactions", 24)),
        (#"{"signed_transactions":["",null]}"#, wrongType(.string, .null, "signed_transactions", 27)),
        (#"{"signed_transactions":["",{}]}"#, wrongType(.string, .object, "signed_transactions", 27)),
        (#"{"signed_transactions":[["x"]]}"#, wrongType(.string, .array, "signed_transactions", 24)),
        (#"{"signed_renewal_infos":[true]}"#, wrongType(.string, .boolean, "signed_renewal_infos", 25)),
        (#"{"app_transaction":["x"]}"#, wrongType(.string, .array, "app_transaction", 19)),
        (#"{"partial":1}"#, wrongType(.boolean, .number, "partial", 11)),
        (#"{"partial":"true"}"#, wrongType(.boolean, .string, "partial", 11)),
        (#"{"signed_transactions":[""],"signed_transactions":[""]}"#, twice),
        (#"{"signed_transactions":["\x"]}"#, JSONFault(.invalidEscape, field: "signed_transactions", at: 25)),
    ])
    func `an item of another type is named with its field and position`(json: String, fault: JSONFault) {
        #expect(throws: fault) { try VerifyRequestBody(json) }
    }

    private static let twice = JSONFault(.duplicateField, field: "signed_transactions", at: 29)

    @Test func `a fault says what to fix without showing a value`() {
        let fault = JSONFault(.wrongType(expected: .string, found: .null), field: "receipt", at: 11)
        #expect(
            fault.description
                == #""receipt" must be a string, not null (leave the field out instead) (at byte 11)"#)
    }

    private static let byteFaults: [([UInt8], Int)] = [
        ([0xFF], 14), ([0x61, 0x80], 15), ([0xC0, 0x80], 14), ([0xED, 0xA0, 0x80], 14), ([0xE2, 0x82], 14),
        ([0xF5, 0x80, 0x80, 0x80], 14), (Array(repeating: 0x61, count: 32) + [0xC3], 46),
    ]

    private static let otherForm = JSONFault.Rule.missingAlternative(
        #"or "signed_transactions", or "transaction_id""#)

    private static let faults: [(String, JSONFault)] = [
        ("", JSONFault(.emptyBody, at: 0)),
        (" \n", JSONFault(.emptyBody, at: 2)),
        ("\u{FEFF}{}", JSONFault(.byteOrderMark, at: 0)),
        ("[]", JSONFault(.notAnObject, at: 0)),
        ("receipt=AQID", JSONFault(.notAnObject, at: 0)),
        ("{}", JSONFault(otherForm, field: "receipt", at: 2)),
        (#"{"bundle_id":"a"}"#, JSONFault(otherForm, field: "receipt", at: 17)),
        (#"{"receipt-data":""}"#, JSONFault(.misnamedField(meant: "receipt"), field: "receipt-data", at: 2)),
        (
            #"{"signedTransactions":[]}"#,
            JSONFault(.misnamedField(meant: "signed_transactions"), field: "signedTransactions", at: 2)
        ),
        (#"{"receipt":""} x"#, JSONFault(.trailingData, at: 15)),
        (#"{"receipt":""}{}"#, JSONFault(.trailingData, at: 14)),
        (#"{"receipt":"",}"#, JSONFault(.expected("a field name in quotes"), at: 14)),
        (#"{,"receipt":""}"#, JSONFault(.expected("a field name in quotes"), at: 1)),
        (#"{'receipt':""}"#, JSONFault(.expected("a field name in quotes"), at: 1)),
        (#"{"receipt" ""}"#, JSONFault(.expected("':'"), at: 11)),
        (#"{"receipt":"" "mode":"auto"}"#, JSONFault(.expected("',' or '}'"), at: 14)),
        (#"{"receipt":"","receipt":""}"#, JSONFault(.duplicateField, field: "receipt", at: 15)),
        (#"{"receipt":"","password":"x"}"#, JSONFault(.unknownField, field: "password", at: 15)),
        (#"{"receipt":"","Receipt":"x"}"#, JSONFault(.unknownField, field: "Receipt", at: 15)),
        (#"{"receipt":null}"#, wrongType(.string, .null, "receipt", 11)),
        (#"{"receipt":1}"#, wrongType(.string, .number, "receipt", 11)),
        (#"{"receipt":[["x"]]}"#, wrongType(.string, .array, "receipt", 11)),
        (#"{"receipt":{"receipt":{}}}"#, wrongType(.string, .object, "receipt", 11)),
        (#"{"max_age":"60"}"#, wrongType(.number, .string, "max_age", 11)),
        (#"{"exclude_old_transactions":0}"#, wrongType(.boolean, .number, "exclude_old_transactions", 28)),
        (#"{"exclude_old_transactions":"true"}"#, wrongType(.boolean, .string, "exclude_old_transactions", 28)),
        (#"{"bundle_id":true}"#, wrongType(.string, .boolean, "bundle_id", 13)),
        (#"{"receipt":x}"#, JSONFault(.expected("a value"), field: "receipt", at: 11)),
        (#"{"exclude_old_transactions":tru}"#, boolean(31)),
        (#"{"exclude_old_transactions":truex}"#, boolean(32)),
        (#"{"max_age":1.0}"#, JSONFault(.notAnInteger, field: "max_age", at: 11)),
        (#"{"max_age":1e3}"#, JSONFault(.notAnInteger, field: "max_age", at: 11)),
        (#"{"max_age":9223372036854775808}"#, JSONFault(.notAnInteger, field: "max_age", at: 11)),
        (#"{"max_age":01}"#, JSONFault(.expected("a number"), field: "max_age", at: 11)),
        (#"{"max_age":-}"#, JSONFault(.expected("a number"), field: "max_age", at: 11)),
        (#"{"max_age":-1}"#, age), (#"{"max_age":31536001}"#, age),
        (#"{"mode":"remote"}"#, JSONFault(.notAccepted(#""auto", "local" or "apple""#), field: "mode", at: 8)),
        (#"{"bundle_id":""}"#, JSONFault(.notAccepted("a non-empty text"), field: "bundle_id", at: 13)),
        (#"{"bundle_id":"\#(String(repeating: "x", count: 257))"}"#, tooLong),
        (#"{"bundle_id":"\#(String(repeating: "\\u0078", count: 257))"}"#, tooLong),
        ("{\"receipt\":\"a\nb\"}", JSONFault(.controlCharacter, field: "receipt", at: 13)),
        ("{\"receipt\":\"a\u{0}b\"}", JSONFault(.controlCharacter, field: "receipt", at: 13)),
        (#"{"receipt":"a\xb"}"#, JSONFault(.invalidEscape, field: "receipt", at: 13)),
        (#"{"receipt":"\u12G4"}"#, JSONFault(.invalidEscape, field: "receipt", at: 12)),
        (#"{"receipt":"\ud83d"}"#, JSONFault(.loneSurrogate, field: "receipt", at: 12)),
        (#"{"receipt":"\ud83d\u0041"}"#, JSONFault(.loneSurrogate, field: "receipt", at: 12)),
        (#"{"receipt":"\ude00"}"#, JSONFault(.loneSurrogate, field: "receipt", at: 12)),
    ]

    private static let tooLong = JSONFault(.textTooLong(maximumBytes: 256), field: "bundle_id", at: 14)
    private static let age = JSONFault(.notAccepted("between 0 and 31536000 seconds"), field: "max_age", at: 11)

    private static func boolean(_ position: Int) -> JSONFault {
        JSONFault(.expected("true or false"), field: "exclude_old_transactions", at: position)
    }

    private static func wrongType(
        _ expected: JSONType, _ found: JSONType, _ field: String, _ position: Int
    ) -> JSONFault {
        JSONFault(.wrongType(expected: expected, found: found), field: field, at: position)
    }
}

extension VerifyRequestBody {
    init(_ json: String) throws(JSONFault) {
        try self.init(bytes: Array(json.utf8))
    }

    /// Decodes an array, because the test macros cannot hold a span.
    fileprivate init(bytes: [UInt8]) throws(JSONFault) {
        try self.init(decoding: bytes.span)
    }
}

extension VerifyRequestBody {
    fileprivate var receipt: Base64Text? {
        if case .receipt(let text) = subject { text } else { nil }
    }

    fileprivate var signedTexts: SignedTexts? {
        if case .signedTransactions(let texts) = subject { texts } else { nil }
    }
}

extension JSONText {
    /// Returns the string's value.
    fileprivate func text(in json: String) throws -> String {
        let bytes = Array(json.utf8)
        return String(decoding: try JSONReader(bytes.span).unescaped(self), as: UTF8.self)
    }
}
