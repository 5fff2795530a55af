// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// The reading of a span of Apple's notification history, page by page: first the notifications that no server has
/// acknowledged, then all of them. A fault loses no position: the same page may be read again.
package struct HistoryReading: Sendable {
    /// The second time that a notification is read, among all, it is known. Tests are not counted.
    package struct Counts: Hashable, Sendable {
        package var pages = 0
        /// The notifications that had not arrived before.
        package var stored = 0
        package var known = 0
        /// The notifications that are not genuine, or of an app that is not configured.
        package var rejected = 0

        package init() {}

        package var notifications: Int { stored + known + rejected }

        package static func + (one: Counts, other: Counts) -> Counts {
            var sum = one
            sum.pages += other.pages
            sum.stored += other.stored
            sum.known += other.known
            sum.rejected += other.rejected
            return sum
        }
    }

    /// The reason why a page was not read, or not stored as a whole.
    package enum Fault: Error, Hashable, Sendable {
        case history(DegradedReason)
        case store(NotificationStoreFault)
        /// A genuine notification does not fit the configuration: the app is not served, or has another Apple ID.
        case configuration
    }

    package private(set) var counts = Counts()
    package private(set) var isComplete = false
    private var query: NotificationHistoryQuery
    /// The token of the next page; nil for the first page.
    private var token: String?

    package init(_ query: NotificationHistoryQuery) {
        self.query = query
        self.query.onlyFailures = true
    }

    /// Reads the next page, and stores the notifications on it that are genuine and new, except tests.
    package mutating func readPage(
        of history: any NotificationHistory, into intake: NotificationIntake, clock: @Sendable () -> Timestamp
    ) async throws(Fault) {
        let page: NotificationHistoryPage
        do throws(DegradedReason) {
            page = try await history.page(query, after: token)
        } catch {
            throw .history(error)
        }
        for payload in page.signedPayloads { try await store(payload, in: intake, at: clock()) }
        counts.pages += 1
        advance(to: page.next)
    }

    private mutating func store(
        _ signedPayload: [UInt8], in intake: NotificationIntake, at now: Timestamp
    ) async throws(Fault) {
        do throws(NotificationRejection) {
            guard let outcome = try await intake.accept(signedPayload: signedPayload, at: now) else { return }
            if outcome == .stored { counts.stored += 1 } else { counts.known += 1 }
        } catch {
            switch error {
            case .notStored(let fault): throw .store(fault)
            case .appAppleIDMismatch: throw .configuration
            default: counts.rejected += 1
            }
        }
    }

    private mutating func advance(to next: String?) {
        token = next
        guard next == nil else { return }
        if query.onlyFailures { query.onlyFailures = false } else { isComplete = true }
    }
}
