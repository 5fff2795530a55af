// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The notifications of version 2 with their attempts, oldest first, up to a maximum number.
struct NotificationLog: Sendable {
    struct Entry: Sendable {
        let app: AppInStore
        let type: String
        let subtype: String?
        /// The notification's ID, which every delivery repeats.
        let uuid: String
        let signedDate: Timestamp
        /// The customer; nil for a notification about the app.
        let appTransactionID: String?
        /// Signed once: all deliveries and the history have the same bytes.
        let signedPayload: String
        fileprivate(set) var attempts: [NotificationAttempt] = []

        var isDelivered: Bool { attempts.contains { $0.result == .success } }
    }

    /// Entries by their numbers, which increase with time.
    private var entries: [Int64: Entry] = [:]
    private var first: Int64 = 1
    private var next: Int64 = 1
    private let maximumCount: Int

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// Adds an entry, in place of the oldest entry at the limit, and returns its number.
    mutating func add(_ entry: Entry) -> Int64 {
        if entries.count >= maximumCount {
            entries[first] = nil
            first += 1
        }
        entries[next] = entry
        next += 1
        return next - 1
    }

    /// Adds an attempt, unless the entry has the most attempts or is no longer kept.
    mutating func record(_ attempt: NotificationAttempt, of number: Int64) {
        guard let count = entries[number]?.attempts.count, count < NotificationAttempt.maximumCount else { return }
        entries[number]?.attempts.append(attempt)
    }

    func entry(uuid: String, of app: AppInStore) -> Entry? {
        entries.values.first { $0.uuid == uuid && $0.app == app }
    }

    /// Returns up to `count` entries after a number, and the number to continue after; nil at the end. An entry has a place
    /// in the history from its first attempt on.
    func page(
        after number: Int64, count: Int, where isIncluded: (Entry) -> Bool
    ) -> (entries: [Entry], continuation: Int64?) {
        var page: [Entry] = []
        var last = number
        for number in max(first, number + 1)..<max(next, first, number + 1) {
            guard let entry = entries[number], !entry.attempts.isEmpty, isIncluded(entry) else { continue }
            guard page.count < count else { return (page, last) }
            page.append(entry)
            last = number
        }
        return (page, nil)
    }
}
