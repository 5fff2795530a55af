// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension RunResult {
    /// A point in time, written as RFC 3339 in UTC: `2026-11-21T18:26:32Z`.
    struct Moment: Hashable, Sendable {
        let secondsSince1970: Int

        init(secondsSince1970: Int) {
            self.secondsSince1970 = secondsSince1970
        }

        /// This moment.
        static var now: Moment { Moment(secondsSince1970: Int(Date().timeIntervalSince1970)) }
    }
}

extension RunResult.Moment: LosslessStringConvertible {
    /// Reads the one form that is written; nil for any other.
    init?(_ text: String) {
        guard text.utf8.count == 20, let date = try? Date(text, strategy: .iso8601) else { return nil }
        self.init(secondsSince1970: Int(date.timeIntervalSince1970))
        guard description == text else { return nil }
    }

    var description: String { Date(timeIntervalSince1970: Double(secondsSince1970)).formatted(.iso8601) }
}

extension RunResult.Moment: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let moment = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "is no moment like 2026-11-21T18:26:32Z")
        }
        self = moment
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
