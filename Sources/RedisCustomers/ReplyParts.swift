// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis

extension RedisValue {
    var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// An integer, or a text of digits.
    var number: Int64? { if case .integer(let number) = self { number } else { text.flatMap { Int64($0) } } }
}
