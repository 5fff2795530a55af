// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Synchronization

/// Joins the log lines and answers of one request. Taken from the client if it is harmless, made up otherwise.
struct RequestID: Hashable, Sendable {
    /// 1 to 64 characters of `[A-Za-z0-9._-]`, safe in headers and logs.
    let value: String

    /// The longest identifier that is taken over, in bytes.
    static let maximumBytes = 64

    /// The identifier that was sent in `X-Request-Id`, or a new one.
    init(sent: String?) {
        if let sent, Self.isValid(sent) {
            value = sent
        } else {
            self = .next()
        }
    }

    private init(value: String) {
        self.value = value
    }

    /// A number that no other process has, and one that no other request of this process has.
    private static func next() -> RequestID {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return RequestID(
            value: process + ASCII.hexadecimal((0..<6).map { UInt8(truncatingIfNeeded: number >> (40 - 8 * $0)) }))
    }

    private static let process = ASCII.hexadecimal((0..<10).map { _ in UInt8.random(in: .min ... .max) })
    private static let counter = Atomic<UInt64>(0)

    private static func isValid(_ text: String) -> Bool {
        (1...maximumBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
