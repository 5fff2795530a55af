// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The ID by which Apple's engineers find a call: 26 letters and digits, unique.
enum CorrelationKey {
    static let fieldName = "x-apple-jingle-correlation-key"

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Returns a new key.
    static func next() -> String {
        digits(of: .random(in: 0...UInt64.max)) + digits(of: .random(in: 0...UInt64.max))
    }

    /// Returns thirteen digits of five bits each.
    private static func digits(of number: UInt64) -> String {
        String(decoding: (0..<13).map { alphabet[Int(number >> (5 * $0) & 31)] }, as: UTF8.self)
    }
}
