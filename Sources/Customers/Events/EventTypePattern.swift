// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension EventType {
    /// Returns the types that a pattern names: one type, or all of a kind (`subscription.*`); none for any other text.
    package static func matching(_ pattern: some StringProtocol) -> Set<EventType> {
        guard pattern.hasSuffix(".*") else { return Set(EventType(rawValue: String(pattern)).map { [$0] } ?? []) }
        let prefix = pattern.dropLast()
        return Set(allCases.filter { $0.rawValue.hasPrefix(prefix) && prefix.count > 1 })
    }
}
