// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import Receipts

extension ByteBuffer {
    init(json writeMembers: (inout JSONWriter) -> Void) {
        self.init(bytes: JSONWriter.object(reservingCapacity: 4096, writeMembers))
    }
}

/// A complete answer of one of the servers.
struct StoreAnswer: Sendable {
    var status = HTTPResponseStatus.ok
    var contentType = "application/json;charset=UTF-8"
    /// Fields in addition to the fields of every answer.
    var headers: [ScenarioPhase.HeaderField] = []
    var body = ByteBuffer()
    /// The name of the outcome for the statistics; nil for the status of HTTP.
    var outcome: String?

    /// Returns a page as Apple's front-end servers send in place of an answer.
    static func page(_ statusCode: Int, _ headers: [ScenarioPhase.HeaderField] = []) -> StoreAnswer {
        let status = HTTPResponseStatus(statusCode: statusCode)
        let text =
            "<html><head><title>\(status.reasonPhrase)</title></head>"
            + "<body><h1>\(status.code) \(status.reasonPhrase)</h1></body></html>\n"
        return StoreAnswer(status: status, contentType: "text/html", headers: headers, body: ByteBuffer(string: text))
    }

    static func text(_ status: HTTPResponseStatus, _ text: String) -> StoreAnswer {
        StoreAnswer(status: status, contentType: "text/plain;charset=UTF-8", body: ByteBuffer(string: text + "\n"))
    }

    /// Returns an answer of verifyReceipt.
    /// - Parameter writeMembers: writes the members after the status.
    static func receiptStatus(
        _ status: Int, retryable: ServerFault.Retryable? = nil, _ writeMembers: (inout JSONWriter) -> Void = { _ in }
    ) -> StoreAnswer {
        let body = ByteBuffer(json: { json in
            json.member("status", status)
            if let retryable {
                json.key(named: retryable.name)
                json.literal(retryable.literal)
            }
            writeMembers(&json)
        })
        return StoreAnswer(body: body, outcome: "status_\(status)")
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

/// A content coding (RFC 9110 §8.4.1), without compression.
enum ContentCoding: String, CaseIterable, Hashable, Sendable {
    /// RFC 1952.
    case gzip
    /// RFC 1950.
    case deflate

    func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        return switch self {
        // RFC 1952 §2.3: magic number, deflate, no flags, no time, no hint, unknown system.
        case .gzip:
            [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + Self.stored(bytes)
                + Self.littleEndian(Self.crc32(of: bytes)) + Self.littleEndian(UInt32(truncatingIfNeeded: bytes.count))
        // RFC 1950 §2.2: deflate with a window of 32 KiB, a multiple of 31; the checksum's most significant byte first.
        case .deflate: [0x78, 0x01] + Self.stored(bytes) + Self.littleEndian(Self.adler32(of: bytes)).reversed()
        }
    }

    /// Returns blocks without compression (RFC 1951 §3.2.4): a flag for the last, the length, and its complement.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let longest = 65_535
        return stride(from: 0, through: bytes.count, by: longest).reduce(into: []) { blocks, start in
            let block = bytes[start..<min(start + longest, bytes.count)]
            let length = UInt32(block.count)
            blocks.append(start + longest > bytes.count ? 1 : 0)
            blocks += littleEndian(length | ~length << 16)
            blocks += block
        }
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// RFC 1952 §8.
    static func crc32(of bytes: [UInt8]) -> UInt32 {
        var crc = ~0 as UInt32
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1) * 0xEDB8_8320 }
        }
        return ~crc
    }

    /// RFC 1950 §8.2.
    static func adler32(of bytes: [UInt8]) -> UInt32 {
        let (low, high) = bytes.reduce((1, 0)) { sums, byte -> (UInt32, UInt32) in
            let low = (sums.0 + UInt32(byte)) % 65_521
            return (low, (sums.1 + low) % 65_521)
        }
        return high << 16 | low
    }
}
