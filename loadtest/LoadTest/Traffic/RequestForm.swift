// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// How requests stand on the wire: everything but the receipt.
struct RequestForm: Sendable {
    private let head: String
    private let opening: String
    private let closing: String

    /// A request that carries a receipt.
    ///
    /// - Parameters:
    ///   - mode: whom the gateway is to ask; nil leaves it to the gateway.
    ///   - fields: header fields beside those that every request has.
    init(target: LoadTarget, mode: VerifyMode?, fields: [HeaderField]) {
        head = Self.head("POST", target, fields, type: "application/json")
        // Apple's form has another name for the member, and no modes.
        let isApples = target.path.hasSuffix("/verifyReceipt")
        opening = isApples ? #"{"receipt-data":""# : #"{"receipt":""#
        closing = "\"" + (isApples ? "" : mode.map { #","mode":"\#($0.rawValue)""# } ?? "") + "}"
    }

    /// The whole request that carries this receipt.
    ///
    /// - Parameter receipt: in base64.
    func request(_ receipt: String) -> ByteBuffer {
        let length = opening.utf8.count + receipt.utf8.count + closing.utf8.count
        return ByteBuffer(string: head + "Content-Length: \(length)\r\n\r\n" + opening + receipt + closing)
    }

    /// Bytes of a body beside its receipt.
    var bodyOverhead: Int { opening.utf8.count + closing.utf8.count }

    /// Where the receipt stands in one of these requests.
    func receiptRange(in request: ByteBuffer, receiptBytes: Int) -> Range<Int> {
        let end = request.writerIndex - closing.utf8.count
        return end - receiptBytes..<end
    }

    /// A request with any body, or with none.
    static func request(
        _ method: String, _ target: LoadTarget, _ fields: [HeaderField], body: [UInt8]?
    ) -> ByteBuffer {
        let isJSON = body?.first { !$0.isBlank && $0 != UInt8(ascii: "\n") } == UInt8(ascii: "{")
        let type = body == nil ? nil : isJSON ? "application/json" : "application/octet-stream"
        var request = ByteBuffer(string: head(method, target, fields, type: type))
        if let body { request.writeString("Content-Length: \(body.count)\r\n") }
        request.writeString("\r\n")
        if let body { request.writeBytes(body) }
        return request
    }

    private static func head(
        _ method: String, _ target: LoadTarget, _ fields: [HeaderField], type: String?
    ) -> String {
        var head = "\(method) \(target.path) HTTP/1.1\r\n"
        let usual = [("Host", target.authority), ("User-Agent", "receipt-loadtest"), ("Content-Type", type ?? "")]
        for (name, value) in usual where !value.isEmpty && !fields.contains(where: { $0.isNamed(name) }) {
            head += "\(name): \(value)\r\n"
        }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        return head
    }
}
