// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import JSON
internal import NIOCore
internal import Synchronization

/// The ID that joins the log lines and answers of one request: 1 to 64 characters of `[A-Za-z0-9._-]`, safe in headers
/// and logs. The client's if it is valid, generated otherwise.
enum RequestID: Hashable, Sendable {
    case sent(String)
    /// A number unique in this process. It becomes text only when it is written.
    case made(UInt64)

    static let maximumBytes = 64

    /// Takes the ID from `X-Request-Id`, or generates an ID.
    init(sent: String?) {
        if let sent, Self.isValid(sent) {
            self = .sent(sent)
        } else {
            self = .made(Self.counter.wrappingAdd(1, ordering: .relaxed).newValue)
        }
    }

    var text: String {
        var bytes = ByteBuffer()
        bytes.write(self)
        return String(buffer: bytes)
    }

    /// Random digits that distinguish this process from all other processes.
    fileprivate static let process = Array(
        ASCII.hexadecimal((0..<10).map { _ in UInt8.random(in: .min ... .max) }).utf8)
    private static let counter = Atomic<UInt64>(0)

    /// Appends the digits that `ByteBuffer.write` writes for a number.
    static func append(made number: UInt64, to text: inout [UInt8]) {
        text.append(contentsOf: process)
        let digits = digits(of: number)
        text.append(addingCapacity: 12) { text in
            text.append(bigEndian: digits.first)
            text.append(bigEndian: digits.last)
        }
    }

    /// Returns the eight and the four digits of six bytes.
    fileprivate static func digits(of number: UInt64) -> (first: UInt64, last: UInt32) {
        let last = ASCII.hexadecimalDigits(of: UInt32(truncatingIfNeeded: number & 0xFFFF))
        return (ASCII.hexadecimalDigits(of: UInt32(truncatingIfNeeded: number >> 16)), UInt32(truncatingIfNeeded: last))
    }

    /// Rejects API keys: a client that sends its key here must not find it in the log.
    private static func isValid(_ text: String) -> Bool {
        (1...maximumBytes).contains(text.utf8.count) && !text.hasPrefix(APIKey.prefix)
            && text.utf8.allSatisfy(ASCII.isSafe)
    }
}

extension ByteBuffer {
    /// Writes an ID; a number as six bytes in hexadecimal digits.
    mutating func write(_ identifier: RequestID) {
        switch identifier {
        case .sent(let text): writeString(text)
        case .made(let number):
            writeBytes(RequestID.process)
            let digits = RequestID.digits(of: number)
            writeInteger(digits.first)
            writeInteger(digits.last)
        }
    }
}
