// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
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

        /// The body of its deliveries.
        var body: ByteBuffer { ByteBuffer(json: { $0.member("signedPayload", signedPayload) }) }
        var isDelivered: Bool { attempts.contains { $0.result == .success } }
    }

    /// The kept entries. Their numbers increase by one.
    private var entries = CircularBuffer<Entry>()
    /// The number of the first entry.
    private var first: Int64 = 1
    private let maximumCount: Int

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// Adds an entry, in place of the oldest entry at the limit, and returns its number.
    mutating func add(_ entry: Entry) -> Int64 {
        if entries.count >= maximumCount {
            entries.removeFirst()
            first += 1
        }
        entries.append(entry)
        return first + Int64(entries.count) - 1
    }

    /// Adds an attempt, unless the entry has the most attempts or is no longer kept.
    mutating func record(_ attempt: NotificationAttempt, of number: Int64) {
        guard number >= first else { return }
        let index = entries.index(entries.startIndex, offsetBy: Int(number - first))
        guard entries[index].attempts.count < NotificationAttempt.maximumCount else { return }
        entries[index].attempts.append(attempt)
    }

    func entry(uuid: String, of app: AppInStore) -> Entry? {
        entries.first { $0.uuid == uuid && $0.app == app }
    }

    /// Returns up to `count` entries after a number, and the number to continue after; nil at the end. An entry has a place
    /// in the history from its first attempt on.
    func page(
        after number: Int64, count: Int, where isIncluded: (Entry) -> Bool
    ) -> (entries: [Entry], continuation: Int64?) {
        var page: [Entry] = []
        var last = number
        let skipped = min(max(0, number + 1 - first), Int64(entries.count))
        for (offset, entry) in entries.dropFirst(Int(skipped)).enumerated() {
            guard !entry.attempts.isEmpty, isIncluded(entry) else { continue }
            guard page.count < count else { return (page, last) }
            page.append(entry)
            last = first + skipped + Int64(offset)
        }
        return (page, nil)
    }
}

/// One try to deliver a notification, as the notification history has it.
struct NotificationAttempt: Hashable, Sendable {
    let date: Timestamp
    let result: SendAttemptResult

    /// The most attempts of a notification: the first attempt, and five retries.
    static let maximumCount = 6
}

/// A value of `sendAttemptResult`.
enum SendAttemptResult: String, CaseIterable, Hashable, Sendable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case tlsIssue = "TLS_ISSUE"
    case circularRedirect = "CIRCULAR_REDIRECT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"
}

extension SendAttemptResult {
    /// The result of a complete response. Redirects are not followed.
    init(status: Int) {
        self = (200...206).contains(status) ? .success : .unsuccessfulStatus
    }
}

/// A form of server notifications.
package enum NotificationVersion: Int64, CaseIterable, Hashable, Sendable {
    /// Members of JSON that are not signed, with a password.
    case one = 1
    /// A signed payload.
    case two
}

extension NotificationVersion {
    /// Returns the waits between the attempts to deliver a notification ("Responding to App Store Server
    /// Notifications"): each begins at the previous attempt. The sandbox has one attempt.
    ///
    /// - Parameter timeScale: the factor of Apple's waits.
    func waits(at endpoint: Endpoint, timeScale: Double) -> [Duration] {
        guard endpoint == .production else { return [] }
        let hours: [Double] = self == .one ? [6, 24, 48] : [1, 12, 24, 48, 72]
        return hours.map { .seconds(3600 * $0) * timeScale }
    }
}
