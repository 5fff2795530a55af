// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Receipts
import Testing

@testable import AppStore

struct VerifyReceiptRequestTests {
    @Test func `the body has the members that Apple requires, and no more`() {
        let plain = VerifyReceiptRequest(receipt: [1, 2, 3, 4])
        #expect(String(decoding: plain.body, as: UTF8.self) == #"{"receipt-data":"AQIDBA=="}"#)
        let full = VerifyReceiptRequest(
            receipt: [0xFF], sharedSecret: Secret(#"a"b"#), excludesOldTransactions: true)
        #expect(
            String(decoding: full.body, as: UTF8.self)
                == #"{"receipt-data":"/w==","password":"a\"b","exclude-old-transactions":true}"#)
    }

    @Test func `the secret and the receipt are only in the body`() {
        let secret = Secret("hush-hush")
        let request = VerifyReceiptRequest(receipt: Array("receipt-bytes".utf8), sharedSecret: secret)
        var shown = "\(secret) \(request) \(String(reflecting: secret)) \(String(reflecting: request)) \([secret])"
        dump(secret, to: &shown)
        dump(request, to: &shown)
        dump([request], to: &shown)
        #expect(!shown.contains("hush") && !shown.contains("114"))
    }

    @Test func `receipts of any length are encoded decodably`() throws {
        for count in 1...200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            var text: [UInt8] = []
            Base64.append(encoding: bytes, to: &text)
            #expect(try Base64.decode(text.span) == bytes && text.count == (count + 2) / 3 * 4)
        }
        var nothing: [UInt8] = []
        Base64.append(encoding: [], to: &nothing)
        #expect(nothing == [])
    }
}
