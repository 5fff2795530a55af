// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import HTTPTypes
internal import Receipts
internal import Synchronization

/// The header field `Date` (RFC 9110 §6.6.1), written once a second.
final class DateField: Sendable {
    private let latest = Mutex<(second: Int64, field: HTTPField?)>((.min, nil))

    /// Returns the field at this time; nil for years without four digits.
    func field(at now: Timestamp) -> HTTPField? {
        let second = now.millisecondsSince1970 / 1000
        return latest.withLock { latest in
            if latest.second != second {
                latest = (second, HTTPDate.text(now).map { HTTPField(name: .date, value: $0) })
            }
            return latest.field
        }
    }
}
