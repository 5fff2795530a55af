// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Receipts

struct HTTPAnswer: Sendable {
    var status = HTTPResponseStatus.ok
    var contentType = "application/json;charset=UTF-8"
    /// Fields in addition to the fields of every answer.
    var headers: [Phase.HeaderField] = []
    var body = ByteBuffer()

    /// Returns a page as Apple's front-end servers send in place of an answer.
    static func page(_ statusCode: Int, _ headers: [Phase.HeaderField]) -> HTTPAnswer {
        let status = HTTPResponseStatus(statusCode: statusCode)
        let text =
            "<html><head><title>\(status.reasonPhrase)</title></head>"
            + "<body><h1>\(status.code) \(status.reasonPhrase)</h1></body></html>\n"
        return HTTPAnswer(status: status, contentType: "text/html", headers: headers, body: ByteBuffer(string: text))
    }

    /// - Parameter date: the time on the servers' clock.
    func head(keepAlive: Bool, at date: Timestamp) -> HTTPResponseHead {
        var fields = HTTPHeaders()
        fields.reserveCapacity(7 + headers.count)
        fields.add(name: "Content-Type", value: contentType)
        fields.add(name: "Content-Length", value: String(body.readableBytes))
        fields.add(
            name: "Cache-Control", value: "private, no-cache, no-store, no-transform, must-revalidate, max-age=0")
        fields.add(name: CorrelationKey.fieldName, value: CorrelationKey.next())
        for field in headers { fields.add(name: field.name, value: field.value) }
        // A scenario may set another time.
        if !fields.contains(name: "Date") { fields.add(name: "Date", value: HTTPDate.text(date)) }
        if !keepAlive { fields.add(name: "Connection", value: "close") }
        return HTTPResponseHead(version: .http1_1, status: status, headers: fields)
    }
}

/// The ID by which Apple's engineers find a call: 26 letters and digits, unique.
enum CorrelationKey {
    static let fieldName = "x-apple-jingle-correlation-key"

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func next() -> String {
        digits(of: .random(in: 0...UInt64.max)) + digits(of: .random(in: 0...UInt64.max))
    }

    /// Returns thirteen digits of five bits each.
    private static func digits(of number: UInt64) -> String {
        String(decoding: (0..<13).map { alphabet[Int(number >> (5 * $0) & 31)] }, as: UTF8.self)
    }
}
