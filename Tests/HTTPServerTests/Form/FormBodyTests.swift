// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import API
@testable import Receipts

/// Bodies of `POST /api` as clients send them, and as they should not.
struct FormBodyTests {
    /// A body, and what must be read from it. `receipt` is the text of the bytes, or the fault.
    struct Case: CustomTestStringConvertible {
        let body: String
        let key: String
        let token: String
        let receipt: Result<[UInt8], FormReceiptFault>

        init(_ body: String, _ key: String, _ token: String, _ bytes: [UInt8]) {
            (self.body, self.key, self.token, receipt) = (body, key, token, .success(bytes))
        }

        init(_ body: String, _ key: String, _ token: String, fault: FormReceiptFault) {
            (self.body, self.key, self.token, receipt) = (body, key, token, .failure(fault))
        }

        var testDescription: String { String(body.prefix(60)) }
    }

    @Test(arguments: wellFormed + credentials + receipts) func `a body is read`(_ test: Case) {
        let bytes = Array(test.body.utf8)
        let form = FormBody(bytes.span)
        #expect(String(decoding: form.key, as: UTF8.self) == test.key)
        #expect(String(decoding: form.token, as: UTF8.self) == test.token)
        let receipt = Result { () throws(FormReceiptFault) in try form.receiptBytes(in: bytes.span) }
        #expect(receipt == test.receipt)
    }

    private static let wellFormed = [
        // As the sample client writes it: base64 as it is.
        Case("apikey=act_1&token=app_1&receipt=++/+/w==", "act_1", "app_1", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case("apikey=a&token=t&receipt=%2B%2B%2F%2B%2Fw%3D%3D", "a", "t", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case("apikey=a&token=t&receipt=%2b%2b%2f%2b%2fw%3d%3d", "a", "t", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case("apikey=a&token=t&receipt=+%2B/%2B%2Fw=%3D", "a", "t", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case("apikey=a&token=t&receipt=  / /w==", "a", "t", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case("apikey=a&token=t&receipt=%20%20/%20/w==", "a", "t", [0xFB, 0xEF, 0xFE, 0xFF]),
        Case(
            "apikey=a&token=t&receipt=+ %2B/+/w==", "a", "t", fault: .base64(.init(fault: .trailingData, position: 8))),
        Case("receipt=AQID&token=t&apikey=a", "a", "t", [1, 2, 3]),
        Case("token=t&receipt=AQID&apikey=a", "a", "t", [1, 2, 3]),
        Case("%61pikey=a&to%6Ben=t&r%65ceipt=AQID", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQ%0D%0AID", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQ\r\nID", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&", "a", "t", [1, 2, 3]),
        Case("&apikey=a&&token=t&receipt=AQID", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&device=x&device=y", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&=&==&x", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&%zz=1", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&receiptdata=x&Receipt=y&RECEIPT=z", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&apikey[]=b&receipt[0]=x", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&password=x&exclude-old-transactions=true", "a", "t", [1, 2, 3]),
    ]

    private static let credentials = [
        Case("", "", "", fault: .missing),
        Case("&", "", "", fault: .missing),
        Case("apikey", "", "", fault: .missing),
        Case("apikey=", "", "", fault: .missing),
        Case("apikey=a", "a", "", fault: .missing),
        Case("token=t&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=a&receipt=AQID", "a", "", [1, 2, 3]),
        Case("apikey=&token=&receipt=AQID", "", "", [1, 2, 3]),
        Case("apikey&token&receipt=AQID", "", "", [1, 2, 3]),
        // The misprint of the sample client: a key is any text.
        Case("apikey=act_1}&token=app_1&receipt=AQID", "act_1}", "app_1", [1, 2, 3]),
        Case("apikey=a=b==&token==&receipt=AQID", "a=b==", "=", [1, 2, 3]),
        Case("apikey=a+b&token=c%2Bd&receipt=AQID", "a+b", "c+d", [1, 2, 3]),
        Case("apikey=a%26b&token=c%3Dd&receipt=AQID", "a&b", "c=d", [1, 2, 3]),
        Case("apikey=a%20b&token=c d&receipt=AQID", "a+b", "c+d", [1, 2, 3]),
        Case("apikey=a%00b&token=t&receipt=AQID", "a\0b", "t", [1, 2, 3]),
        Case("apikey=%C3%A9&token=é&receipt=AQID", "é", "é", [1, 2, 3]),
        Case("apikey=%ff&token=t&receipt=AQID", "\u{FFFD}", "t", [1, 2, 3]),
        Case("apikey=%&token=t&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=%4&token=t&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=%4g&token=%g4&receipt=AQID", "", "", [1, 2, 3]),
        Case("apikey=a&apikey=b&token=t&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=a&token=t&apikey=a&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=a&token=t&token=t&receipt=AQID", "a", "", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQID&%61pikey=a", "", "t", [1, 2, 3]),
        Case("APIKEY=a&Token=t&receipt=AQID", "", "", [1, 2, 3]),
        Case(" apikey=a&token =t&receipt=AQID", "", "", [1, 2, 3]),
        Case("apikey=a;token=t;receipt=AQID", "a;token=t;receipt=AQID", "", fault: .missing),
        Case("{\"apikey\":\"a\",\"token\":\"t\"}", "", "", fault: .missing),
        Case("apikey=\(text(256))&token=t&receipt=AQID", text(256), "t", [1, 2, 3]),
        Case("apikey=\(text(257))&token=t&receipt=AQID", "", "t", [1, 2, 3]),
        Case("apikey=a&token=\(text(256, "%78"))&receipt=AQID", "a", text(256), [1, 2, 3]),
        Case("apikey=a&token=\(text(257, "%78"))&receipt=AQID", "a", "", [1, 2, 3]),
    ]

    private static let receipts = [
        Case("apikey=a&token=t", "a", "t", fault: .missing),
        Case("apikey=a&token=t&receipt", "a", "t", fault: .base64(.init(fault: .empty, position: 0))),
        Case("apikey=a&token=t&receipt=", "a", "t", fault: .base64(.init(fault: .empty, position: 0))),
        Case("apikey=a&token=t&receipt=AQID&receipt=AQID", "a", "t", fault: .repeated),
        Case("apikey=a&token=t&receipt=AQI", "a", "t", fault: .base64(.init(fault: .missingPadding, position: 3))),
        Case("apikey=a&token=t&receipt=AQ-_", "a", "t", fault: .base64(.init(fault: .urlAlphabet, position: 2))),
        Case("apikey=a&token=t&receipt=AQ!D", "a", "t", fault: .base64(.init(fault: .invalidCharacter, position: 2))),
        Case("apikey=a&token=t&receipt=AQID%", "a", "t", fault: .percentEncoding),
        Case("apikey=a&token=t&receipt=AQID%2", "a", "t", fault: .percentEncoding),
        Case("apikey=a&token=t&receipt=%2G", "a", "t", fault: .percentEncoding),
        Case("apikey=a&token=t&receipt=%41%51%49%44", "a", "t", [1, 2, 3]),
        Case("apikey=a&token=t&receipt=AQ==AQ==", "a", "t", fault: .base64(.init(fault: .trailingData, position: 4))),
        Case("apikey=a&token=t&receipt=AR==", "a", "t", fault: .base64(.init(fault: .nonCanonicalBits, position: 1))),
        Case(
            "apikey=a&token=t&receipt=AQID;x=1", "a", "t", fault: .base64(.init(fault: .invalidCharacter, position: 4))),
        Case(
            "apikey=a&token=t&receipt=\(text(400, "+/v7"))", "a", "t",
            Array(repeating: [0xFB, 0xFB, 0xFB], count: 400).flatMap(\.self)),
        Case(
            "apikey=a&token=t&receipt=\(text(400, "%2B%2Fv7"))", "a", "t",
            Array(repeating: [0xFB, 0xFB, 0xFB], count: 400).flatMap(\.self)),
    ]

    private static func text(_ count: Int, _ part: String = "x") -> String { String(repeating: part, count: count) }

    @Test func `there are at least sixty bodies`() {
        #expect(Self.wellFormed.count + Self.credentials.count + Self.receipts.count >= 60)
    }

    @Test(arguments: [
        ("apikey=a&token=t&receipt=++/+/w==", true), ("receipt=AQID&apikey=a&token=t", true),
        ("apikey=a&token=t&receipt=%2B%2B%2F%2B%2Fw%3D%3D", true), ("apikey=a&token=t&receipt=AQID&x=1", false),
        ("apikey=a&token=t&receipt=%41QID", false), ("apikey=a&token=t&receipt=%2b%2B%2F%2B%2Fw%3D%3D", false),
        ("apikey=a&token=t&receipt=+%2B%2F%2B%2Fw%3D%3D", false), ("apikey=a&token=t&receipt=  / /w==", false),
        ("apikey=a&token=t", false), ("&apikey=a&token=t&receipt=AQID", false), ("", false),
    ]) func `answers to the usual spellings are kept`(body: String, isUsual: Bool) {
        #expect(FormBody(Array(body.utf8).span).isUsualSpelling == isUsual)
    }

    @Test func `a body of many fields has no credentials`() {
        func form(_ others: Int) -> FormBody {
            let text = "apikey=a&token=t&receipt=AQID" + String(repeating: "&", count: others)
            return FormBody(Array(text.utf8).span)
        }
        #expect(form(FormBody.maximumFields - 3).key == Array("a".utf8))
        #expect(form(FormBody.maximumFields).key == [])
    }

    @Test func `a fault tells no byte of a value`() {
        for test in Self.receipts {
            guard case .failure(let fault) = test.receipt else { continue }
            #expect(!"\(fault)".contains("AQ"))
        }
    }
}
