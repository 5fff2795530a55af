// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The contents of an input, chosen to be slow to compare, to split or to parse.
enum CostlyText: String, CaseIterable {
    /// A text that the others are compared with.
    case ascii
    /// Letters as escapes of JSON, which escapes of other characters are compared with.
    case asciiEscapes
    /// Combining marks in an order that is not the canonical one.
    case marks
    /// The marks as escapes of JSON.
    case escapes
    /// Separators of every grammar.
    case separators
    /// A text that differs from an expected one at its end only.
    case nearMiss

    private var pattern: String {
        switch self {
        case .ascii: "abcdefgh"
        case .asciiEscapes: #"\u0061\u0062"#
        case .marks: "\u{0301}\u{0323}\u{0300}\u{0316}"
        case .escapes: #"\u0301\u0323"#
        case .separators: " ,;=.:&/"
        case .nearMiss: "com.example.shop"
        }
    }

    /// The text of the same shape in plain ASCII.
    var plain: CostlyText { self == .escapes ? .asciiEscapes : .ascii }

    /// Returns whole patterns with about this many bytes.
    func bytes(_ count: Int) -> [UInt8] {
        let pattern = Array(pattern.utf8)
        return Array((0..<count / pattern.count).map { _ in pattern }.joined())
    }
}

/// A place where the gateway takes input, and the request that puts a text there.
struct CostlyInput: CustomStringConvertible, Sendable {
    let description: String
    /// The texts to put there: none that the grammar of the place refuses before it is read.
    var texts: [CostlyText] = [.ascii, .marks, .escapes, .separators, .nearMiss]
    /// The largest text, in bytes.
    let maximumBytes: Int
    let request: @Sendable (_ text: [UInt8], _ key: String) -> [UInt8]

    /// True for the paths of plugins, which take no key of a backend.
    var isOfPlugin: Bool { description.hasPrefix("/v1/validate") || description.hasPrefix("/v1/purchase") }

    static let all = headers + bodies + shapes + evidence + paths + [query, form]

    /// Fields of a header, up to the size that the gateway takes.
    private static let headers = [
        "Authorization: Bearer ", "Authorization: Basic ", "X-API-Key: ", "Content-Type: ", "X-Forwarded-For: ",
        "Prefer: ", "Accept: ", "Last-Event-ID: ", "Origin: ", "traceparent: ", "tracestate: ", "X-Request-Id: ",
        "Idempotency-Key: ", "Connection: close, ", "Expect: ", "Host: ",
    ].map { field in
        CostlyInput(
            description: field, texts: [.ascii, .marks, .separators, .nearMiss], maximumBytes: 7 << 10
        ) { text, key in
            let path = field == "Last-Event-ID: " || field == "Accept: " ? "/v1/events" : "/v1/status"
            let authorization = field.hasPrefix("Auth") || field.hasPrefix("X-API") ? "" : "X-API-Key: \(key)\r\n"
            let type = field.hasPrefix("Accept") ? "" : "Accept: text/event-stream\r\n"
            let isPost = ["Content-Type: ", "Prefer: ", "Idempotency-Key: "].contains(field)
            let line = isPost ? "POST /v1/verify HTTP/1.1\r\n" : "GET \(path) HTTP/1.1\r\n"
            let body = isPost ? #"{"receipt":"AQID","mode":"apple"}"# : ""
            let host = field == "Host: " ? "" : "Host: localhost\r\n"
            let head = "\(line)\(host)Connection: close\r\n\(authorization)\(isPost ? "" : type)"
            let length = isPost ? "Content-Length: \(body.utf8.count)\r\n" : ""
            return Array((head + length + field).utf8) + text + Array(("\r\n\r\n" + body).utf8)
        }
    }

    /// Strings and names in the bodies of all routes.
    private static let bodies = [
        ("/apple/notifications", #"{"notification_type":"DID_RENEW","password":"p","bid":"#),
        ("/apple/notifications", #"{"notification_type":"DID_RENEW","bid":"com.example.shop","password":"#),
        ("/apple/notifications", #"{"signedPayload":"#), ("/apple/notifications", #"{"a":1,"b":2,"c":"#),
        ("/v1/verify", #"{"receipt":"#), ("/v1/verify", #"{"receipt":"AQID","bundle_id":"#),
        ("/v1/verify", #"{"receipt":"AQID","account":"#), ("/v1/verify", #"{"signed_transactions":["#),
        ("/v1/verify", #"{"transaction_id":"#), ("/v1/verify", #"{"mode":"#),
        ("/verifyReceipt", #"{"receipt-data":"#), ("/verifyReceipt", #"{"receipt-data":"AQID","password":"#),
        ("/verifyReceipt", #"{"receipt-data":"AQID","other":"#), ("/v1/ownership/1", #"{"account":"#),
        ("/v1/erasures", #"{"bundle_id":"com.example.shop","account":"#),
        ("/v1/erasures", #"{"bundle_id":"com.example.shop","original_transaction_ids":["#),
        ("/v1/validate", #"{"transaction":{"type":"ios-appstore","appStoreReceipt":"#),
        ("/v1/validate", #"{"transaction":{"type":"apple-sk2","jwsRepresentation":"#),
        ("/v1/validate", #"{"transaction":{"type":"#), ("/v1/validate", #"{"type":"application","id":"#),
        ("/v1/validate", #"{"additionalData":{"applicationUsername":"#),
        ("/v1/purchase/verify", #"{"store":"apple","jws":"#), ("/v1/purchase/verify", #"{"store":"#),
        ("/v1/purchase/verify", #"{"store":"apple","jws":"a","expectedProductId":"#),
        (signatures + "promotional-offer", #"{"offer_identifier":"o","product_id":"#),
        (signatures + "introductory-offer-eligibility", #"{"product_id":"p","transaction_id":"#),
        (signatures + "original-promotional-offer", #"{"product_id":"p","application_username":"#),
        (signatures + "advanced-commerce-api", advancedCommerce + #","items":[{"SKU":"#),
        (signatures + "advanced-commerce-api", advancedCommerce + #","description":"#),
    ].map { path, start in
        // A change of ownership has a small body.
        let hasLimit = path == "/v1/erasures" || path.hasPrefix(signatures)
        let maximum = path.hasPrefix("/v1/ownership") ? 3 << 10 : hasLimit ? 60 << 10 : 64 << 10
        return CostlyInput(description: "\(path) \(start)", maximumBytes: maximum) { text, key in
            let open = start.filter { "{[".contains($0) }
            let end = #"""# + open.reversed().map { $0 == "{" ? "}" : "]" }.joined()
            let body = Array((start + #"""#).utf8) + text + Array(end.utf8)
            return request(path.hasPrefix("/v1/ownership") ? "PUT" : "POST", path, body, key)
        }
    }

    private static let signatures = "/v1/apple/com.example.shop/signatures/"
    private static let advancedCommerce =
        #"{"operation":"CREATE_SUBSCRIPTION","version":"1","requestInfo":{"#
        + #""requestReferenceId":"758883e8-151b-47b7-abd0-60c4d804c2f5""#

    /// Texts in evidence that is read before a signature is verified: the header of a JWS, and a transaction receipt.
    private static let evidence = [
        (#"{"alg":"ES256","kid":""#, #""}"#), (#"{"alg":"ES256","x5c":[""#, #""]}"#), (#"{"alg":""#, #""}"#),
        (#"{"signature" = ""#, #"";}"#), (#"{"signature" = "AQ==";"purchase-info" = ""#, #"";}"#),
        (#"{""#, #"" = "";}"#),
    ].map { start, end in
        CostlyInput(description: "evidence \(start)", maximumBytes: 48 << 10) { text, key in
            let bytes = Array(start.utf8) + text + Array(end.utf8), isReceipt = start.contains("=") || end.contains("=")
            let encoded = Data(bytes).base64EncodedString()
            let url = encoded.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            let receipt = isReceipt ? encoded : "\(url).e30.AQ"
            return request("POST", "/v1/verify", Array(#"{"receipt":"\#(receipt)"}"#.utf8), key)
        }
    }

    /// Variable segments of paths.
    private static let paths = [
        ("GET", "/v1/verifications/"), ("GET", "/v1/verifications/ver_1?wait="), ("DELETE", "/v1/cache/transactions/"),
        ("PUT", "/v1/ownership/"), ("GET", "/v1/apple/com.example.shop/Production/inApps/"),
    ].map { method, path in
        CostlyInput(
            description: "\(method) \(path)", texts: [.ascii, .separators, .nearMiss], maximumBytes: 7 << 10
        ) { text, key in
            let target = path + String(decoding: text.filter { $0 > 0x20 }, as: UTF8.self)
            return request(method, target, [], key)
        }
    }

    /// JSON of every shape: the text is cut into pieces.
    private static let shapes = [
        ("/apple/notifications", "members"), ("/v1/verify", "members"), ("/verifyReceipt", "members"),
        ("/apple/notifications", "elements"), ("/verifyReceipt", "elements"), ("/v1/validate", "elements"),
        ("/v1/purchase/verify", "elements"),
    ].map { path, shape in
        CostlyInput(
            description: "\(path) many \(shape)", texts: [.ascii, .marks, .escapes], maximumBytes: 64 << 10
        ) { text, key in
            let pieces = stride(from: 0, to: text.count - 23, by: 24).map { Array(text[$0..<$0 + 24]) }
            let items = pieces.enumerated().map { number, piece in
                let item = [UInt8(ascii: "\"")] + piece + [UInt8(ascii: "\"")]
                return shape == "elements" ? item : Array("\"\(number)".utf8) + piece + Array("\":0".utf8)
            }
            let inner = Array(items.joined(separator: [UInt8(ascii: ",")]))
            let (start, end) = shape == "elements" ? (#"{"x":["#, "]}") : ("{", "}")
            return request("POST", path, Array(start.utf8) + inner + Array(end.utf8), key)
        }
    }

    private static let query = CostlyInput(
        description: "/v1/events?bundle_id=", texts: [.ascii, .marks], maximumBytes: 7 << 10
    ) { text, key in
        let hexadecimal = Array("0123456789ABCDEF".utf8)
        let encoded = text.prefix(text.count / 3).flatMap { byte in
            [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
        }
        let head = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: \(key)\r\n\r\n"
        return Array("GET /v1/events?bundle_id=".utf8) + encoded + Array(head.utf8)
    }

    private static let form = CostlyInput(
        description: "/api", texts: [.ascii, .marks, .separators], maximumBytes: 64 << 10
    ) { text, key in
        let body = Array("apikey=\(key)&token=".utf8) + text
        return request("POST", "/api", body, key, type: "application/x-www-form-urlencoded")
    }

    private static func request(
        _ method: String, _ target: String, _ body: [UInt8], _ key: String, type: String = "application/json"
    ) -> [UInt8] {
        let head =
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: \(key)\r\n"
            + "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }
}
