// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// A date in the three formats of Apple's answers.
struct SimulatedDate: Sendable {
    private let timestamp: Timestamp

    init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    init(_ date: UTCDate) {
        timestamp = date.timestamp
    }

    /// `2020-07-22 17:39:08 Etc/GMT`.
    var plain: String { Self.text(timestamp) + " Etc/GMT" }

    /// `1595439548000`.
    var milliseconds: String { String(timestamp.millisecondsSince1970) }

    /// `2020-07-22 10:39:08 America/Los_Angeles`, in local time, although the key ends in `_pst`.
    var losAngeles: String {
        Self.text(UTCDate(timestamp).inLosAngeles.timestamp) + " America/Los_Angeles"
    }

    /// `2020-07-22 17:39:08`.
    private static func text(_ timestamp: Timestamp) -> String {
        let text = UTCDate(timestamp).rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).dropLast())"
    }
}

extension JSONWriter {
    /// Writes nothing for nil.
    mutating func member(_ name: StaticString, _ date: UTCDate?) {
        if let date { member(name, SimulatedDate(date)) }
    }

    /// Writes `name`, `name_ms` and `name_pst`.
    mutating func member(_ name: StaticString, _ date: SimulatedDate) {
        member(name, date.plain)
        member(name, suffix: "_ms", date.milliseconds)
        member(name, suffix: "_pst", date.losAngeles)
    }
}
