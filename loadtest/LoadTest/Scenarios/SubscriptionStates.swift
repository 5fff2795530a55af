// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization

/// Counts answers whose subscriptions are not all active, for scenarios in which all of them are.
final class SubscriptionStates: Sendable {
    private let wrong = Mutex(0)

    /// The kept bytes of each answer: whole answers about a few dozen transactions.
    static let openingBytes = 256 << 10

    var wrongCount: Int { wrong.withLock { $0 } }

    /// Checks the answer to a request; a failed request shows no state.
    func check(_ completion: Completion) {
        guard let status = completion.status, (200..<300).contains(status) else { return }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        if !Self.areActive(in: completion.opening, at: now) { wrong.withLock { $0 += 1 } }
    }

    /// Returns true if an answer, of either form, shows active subscriptions only.
    /// - Parameter now: milliseconds since 1970.
    static func areActive(in answer: [UInt8], at now: Int64) -> Bool {
        let json = QuotedParts(answer)
        if let verdict = json.values(of: "verdict").first {
            let states = json.values(of: "state")
            return verdict == "genuine" && !states.isEmpty && states.allSatisfy { $0 == "active" }
        }
        // In Apple's form the end of the last period decides the state.
        return json.isZero("status") && json.values(of: "expires_date_ms").contains { Int64($0) ?? 0 > now }
    }
}

/// The names and values of a JSON text without white space, wherever they stand.
private struct QuotedParts {
    /// The parts between quotation marks: a name, a colon, a value.
    private let parts: [String]

    init(_ json: [UInt8]) {
        parts = json.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the strings of all members with a name.
    func values(of name: String) -> [String] {
        parts.indices.dropLast(2).filter { parts[$0] == name && parts[$0 + 1] == ":" }.map { parts[$0 + 2] }
    }

    func isZero(_ name: String) -> Bool {
        parts.indices.dropLast().contains { parts[$0] == name && [":0,", ":0}"].contains(parts[$0 + 1].prefix(3)) }
    }
}
