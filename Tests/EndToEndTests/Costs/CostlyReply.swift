// SPDX-License-Identifier: Apache-2.0

/// A place in a reply of Apple, and the reply that has a text there.
struct CostlyReply: CustomStringConvertible, Sendable {
    let description: String
    /// The texts to put there: none that the grammar of the place refuses before it is read.
    let texts: [CostlyText]
    /// The largest text, in bytes.
    let maximumBytes: Int
    /// Returns the bytes on the connection.
    let bytes: @Sendable (_ text: [UInt8]) -> [UInt8]

    static let ofVerifyReceipt =
        fields.map { CostlyReply(field: $0) }
        + [
            ("", ""), (#"{"status":0,"environment":""#, #""}"#), (#"{"status":0,"receipt":{"bundle_id":""#, #""}}"#),
            (#"{"status":0,"environment":"Production","latest_receipt":""#, #""}"#), (#"{"status":"#, "}"),
            (#"{"status":21199,"exception":""#, #""}"#), (#"{"status":0,""#, #"":0}"#),
            (
                #"{"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.app"},"#
                    + #""latest_receipt_info":[{"product_id":""#, #""}]}"#
            ),
        ].map { CostlyReply(body: $0, $1) }

    static let ofServerAPI =
        [
            (#"{"environment":"Production","bundleId":""#, #""}"#), (#"{"environment":""#, #""}"#),
            (#"{"errorCode":4040010,"errorMessage":""#, #""}"#), (#"{""#, #"":0}"#),
            (
                #"{"environment":"Production","bundleId":"com.example.app","data":[{"lastTransactions":[{"#
                    + #""originalTransactionId":"1","status":1,"signedTransactionInfo":""#, #""}]}]}"#
            ),
        ].map { CostlyReply(body: $0, $1) }

    private static let fields = [
        "Retry-After", "Sunset", "Deprecation", "Link", "Content-Type", "Content-Encoding",
        "x-apple-jingle-correlation-key", "Location", "X-Other",
    ]

    private init(field: String) {
        (description, texts, maximumBytes) = ("\(field):", [.marks, .separators], 16 << 10)
        bytes = { text in
            let status =
                field == "Retry-After" ? "503 Service Unavailable" : field == "Location" ? "302 Found" : "200 OK"
            let head = "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 2\r\n\(field): "
            return Array(head.utf8) + text + Array("\r\n\r\n{}".utf8)
        }
    }

    private init(body start: String, _ end: String) {
        (description, texts, maximumBytes) = (start, [.marks, .escapes], 64 << 10)
        bytes = { text in
            let body = Array(start.utf8) + text + Array(end.utf8)
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
            return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
        }
    }
}
