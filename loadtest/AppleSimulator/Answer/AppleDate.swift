// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// A date in the three formats of Apple's answers.
struct AppleDate: Sendable {
    private let timestamp: Timestamp

    init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    init(_ date: UTCDate) {
        timestamp = Timestamp(millisecondsSince1970: date.secondsSince1970 * 1000)
    }

    /// `2020-07-22 17:39:08 Etc/GMT`.
    var plain: String { Self.text(CivilTime(timestamp)) + " Etc/GMT" }

    /// `1595439548000`.
    var milliseconds: String { String(timestamp.millisecondsSince1970) }

    /// `2020-07-22 10:39:08 America/Los_Angeles`, in local time, although the key ends in `_pst`.
    var losAngeles: String { Self.text(LosAngeles.wallClock(at: timestamp)) + " America/Los_Angeles" }

    /// `2020-07-22 17:39:08`.
    private static func text(_ time: CivilTime) -> String {
        let date = [digits(time.year, 4), digits(time.month), digits(time.day)].joined(separator: "-")
        let clock = [digits(time.hour), digits(time.minute), digits(time.second)].joined(separator: ":")
        return date + " " + clock
    }

    private static func digits(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension JSONText {
    /// Writes `name`, `name_ms` and `name_pst`; nothing for nil.
    mutating func member(_ name: String, _ date: AppleDate?) {
        guard let date else { return }
        member(name, date.plain)
        member(name + "_ms", date.milliseconds)
        member(name + "_pst", date.losAngeles)
    }

    /// Writes `name`, `name_ms` and `name_pst`; nothing for nil.
    mutating func member(_ name: String, _ date: UTCDate?) {
        member(name, date.map(AppleDate.init))
    }
}
