// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import NIOCore

/// The constant parts of requests on the wire: everything but the receipt, or what stands in its place.
struct RequestForm: Sendable {
    private let head: String
    private let opening: String
    private let closing: String

    /// The member of the body that is not constant.
    enum Content: Hashable, Sendable {
        case receipt
        /// A receipt in Apple's form, at Apple's path whatever the target's path is.
        case verifyReceipt
        case signedTransaction
        case transactionID(ofApp: String)
        /// A notification as Apple's servers send it, at the path for notifications whatever the target's path is.
        case notification
    }

    /// A request without a mode and a maximum age (in seconds) leaves them to the gateway.
    init(
        target: LoadTarget, mode: VerifyMode?, maximumAge: Int? = nil, fields: [HeaderField],
        content: Content = .receipt
    ) {
        let target = target.receiving(content)
        head = Self.head("POST", target, fields, type: "application/json")
        // Apple's form has another name for the member. It has no modes, and neither have notifications.
        let isApples = target.path.hasSuffix("/verifyReceipt")
        opening = isApples ? #"{"receipt-data":""# : content.opening
        let modeMember = mode.map { #","mode":"\#($0.rawValue)""# } ?? ""
        let members = modeMember + (maximumAge.map { #","max_age":\#($0)"# } ?? "")
        closing = isApples || content == .notification ? "\"}" : content.closing + members + "}"
    }

    func request(_ receipt: String) -> ByteBuffer {
        let length = bodyOverhead + receipt.utf8.count
        return ByteBuffer(string: head + "Content-Length: \(length)\r\n\r\n" + body(receipt))
    }

    func body(_ receipt: String) -> String { opening + receipt + closing }

    var bodyOverhead: Int { opening.utf8.count + closing.utf8.count }

    func receiptRange(in request: ByteBuffer, receiptBytes: Int) -> Range<Int> {
        let end = request.writerIndex - closing.utf8.count
        return end - receiptBytes..<end
    }

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
        let given = Set(fields.map { $0.name.lowercased() })
        for (name, value) in usual where !value.isEmpty && !given.contains(name.lowercased()) {
            head += "\(name): \(value)\r\n"
        }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        return head
    }
}

extension LoadTarget {
    /// Returns the server with the path for a content: two contents have paths of their own.
    fileprivate func receiving(_ content: RequestForm.Content) -> LoadTarget {
        switch content {
        case .verifyReceipt: path.hasSuffix("/verifyReceipt") ? self : with(path: "/verifyReceipt")
        case .notification: path.hasSuffix("/apple/notifications") ? self : with(path: "/apple/notifications")
        case .receipt, .signedTransaction, .transactionID: self
        }
    }

    private func with(path: String) -> LoadTarget {
        LoadTarget(isSecure: isSecure, host: host, port: port, path: path)
    }
}

extension RequestForm.Content {
    fileprivate var opening: String {
        switch self {
        case .receipt, .verifyReceipt: #"{"receipt":""#
        case .signedTransaction: #"{"signed_transactions":[""#
        case .transactionID(let bundleID): #"{"bundle_id":"\#(bundleID)","transaction_id":""#
        case .notification: #"{"signedPayload":""#
        }
    }

    fileprivate var closing: String { self == .signedTransaction ? "\"]" : "\"" }
}

struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String
}

extension [HeaderField] {
    /// Returns the field with a client's API key; none without a key.
    static func bearer(_ key: String?) -> [HeaderField] {
        key.map { [HeaderField(name: "Authorization", value: "Bearer \($0)")] } ?? []
    }
}

extension HeaderField: ExpressibleByArgument {
    /// Reads `Name: value`, but no field that says where a request ends: only this program writes such fields.
    init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(argument[..<colon])
        let value = String(argument[argument.utf8.index(after: colon)...].drop { $0 == " " })
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter),
            value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
            !["content-length", "transfer-encoding", "connection"].contains(name.lowercased())
        else { return nil }
        self.init(name: name, value: value)
    }
}
