// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import Receipts
import Testing

@testable import API
@testable import ServerTestSupport

/// Texts that clients send in place of a receipt.
struct MisplacedInputTests {
    /// An outer element in DER, as long as it says, whose base64 has many `+`.
    private static let der = [0x30, 0x82, 0x03, 0xE8] + [UInt8](repeating: 0xFB, count: 1000)
    private static let base64 = Data(der).base64EncodedString()
    private static let propertyList = Array(#"{"signature" = "AAAA";}"#.utf8)
    private static let jws = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"

    private static func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static let texts: [(String, MisplacedInput)] = [
        (#"{"transactionId":"1"}"#, .decodedJSON), (" \n{}", .decodedJSON),
        (spaced(leaving: 3), .plusToSpace), (spacedWithPadding, .plusToSpace),
    ]
    private static let decoded: [(String, MisplacedInput)] = [
        (encoded(jws), .encodedJWS), (encoded(base64), .encodedTwice),
        (encoded(Data(propertyList + der).base64EncodedString()), .encodedTwice),
        // Without the lost characters, the rest has whole groups.
        (spaced(leaving: 0), .plusToSpace),
    ]
    /// Base64 that a form decoder read, whose padding is in the wrong place without the lost characters.
    private static let spacedWithPadding: String = {
        let all = (990..<1000).map { Data(der.prefix($0)).base64EncodedString() }
        return all.first { $0.hasSuffix("=") && $0.count { $0 == "+" } % 4 != 0 }?.replacing("+", with: " ") ?? ""
    }()

    /// Returns base64 that a form decoder read, with this number of characters beyond whole groups of four.
    private static func spaced(leaving rest: Int) -> String {
        let all = base64.replacing("+", with: " "), starts = (0..<8).map { String(all.prefix(800 + $0)) }
        return starts.first { $0.replacing(" ", with: "").utf8.count % 4 == rest } ?? ""
    }

    @Test(arguments: texts)
    func `a text that is certainly no base64 is named`(text: String, expected: MisplacedInput) throws {
        let body = try SignedSamples.body(["receipt": text])
        let problem = #expect(throws: Problem.self) { try VerdictEndpoint().request(in: body) }
        #expect(problem?.fault == expected.rawValue && problem?.field == "receipt")
        #expect(problem?.detail == "\"receipt\" \(expected)")
    }

    /// Base64 of anything has a verdict, whose explanation names these.
    @Test(arguments: decoded)
    func `what is in base64 is rejected by its rule`(text: String, expected: MisplacedInput) throws {
        let request = try VerdictEndpoint().request(in: SignedSamples.body(["receipt": text]))
        guard case .evidence(.appReceipt(let bytes)) = request.subject else {
            Issue.record("no receipt")
            return
        }
        let error = #expect(throws: ReceiptError.self) { try ReceiptVerifier().verify(bytes, at: .now()) }
        #expect(error?.rule == (expected == .plusToSpace ? .derTruncated : .derUnexpectedTag))
    }

    @Test(arguments: texts + decoded + [(jws, .jws)])
    func `the drop-in names it in a header, beside Apple's status`(text: String, expected: MisplacedInput) throws {
        let body = ByteBuffer(string: try SignedSamples.body(["receipt-data": text]))
        guard case .reply(let reply) = AppleFormEndpoint().read(body) else {
            Issue.record("a request")
            return
        }
        #expect(reply.text == #"{"status":21002}"#)
        #expect(reply.fields[.gatewayReason] == "\"receipt-data\" \(expected)")
    }

    @Test(arguments: [
        base64, encoded(String(decoding: propertyList, as: UTF8.self)),
        // Wrapped by spaces, with its `+`.
        stride(from: 0, to: base64.count, by: 64).map { base64.dropFirst($0).prefix(64) }.joined(separator: " "),
        // Complete, without a `+`.
        Data([0x30, 0x81, 0x80] + [UInt8](repeating: 0, count: 128)).base64EncodedString()
            .replacing("AAAA", with: "AAAA "),
        // Too short to be sure.
        encoded("QUJD"), "AQID",
    ])
    func `what may be a receipt is verified`(text: String) throws {
        #expect(throws: Never.self) { try VerdictEndpoint().request(in: SignedSamples.body(["receipt": text])) }
    }

    @Test func `an empty body names all forms, and another interface's name the right one`() {
        let faults = [
            "{}": #""receipt" is required, or "signed_transactions", or "transaction_id""#,
            #"{"receipt-data":"AQID"}"#: #""receipt-data" is not a field of this request; use "receipt""#,
        ]
        for (body, text) in faults {
            let fault = #expect(throws: JSONFault.self) { try VerdictEndpoint().read(ByteBuffer(string: body)) }
            #expect(fault?.description.hasPrefix(text) == true, "\(fault as Any)")
        }
    }
}
