// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

package struct Stats: Hashable, Sendable, Codable {
    /// Calls of verifyReceipt at the production endpoint, including calls with a fault.
    package var production = 0
    /// Calls of verifyReceipt at the sandbox endpoint, including calls with a fault.
    package var sandbox = 0
    /// Distinct receipts in requests, in any encoding.
    package var distinctReceipts = 0
    package var notifications = NotificationStats()
    package var serverApi = ServerAPIStats()
}

/// The additional counts of `GET /stats/details`.
package struct StatsDetails: Hashable, Sendable, Codable {
    /// Calls by endpoint and outcome: `status_0`, `status_21007`, `http_503`, `reset` and so on.
    package var outcomes: [String: [String: Int]] = [:]
    /// Calls whose answer is not complete.
    package var inFlight = 0
    /// The maximum of calls in flight.
    package var maximumInFlight = 0
    package var openConnections = 0
    package var connections = 0
    /// Connections that got an invalid certificate.
    package var wrongCertificates = 0
}

extension StatsDetails {
    fileprivate mutating func begin() {
        inFlight += 1
        maximumInFlight = max(maximumInFlight, inFlight)
    }
}

/// The counter behind `Stats` and `StatsDetails`.
final class StatsCounter: Sendable {
    private struct Counts {
        var stats = Stats()
        var details = StatsDetails()
        var receipts: Set<Fingerprint> = []
    }

    private let counts = Mutex(Counts())
    private let maximumDistinctReceipts: Int

    init(maximumDistinctReceipts: Int) {
        self.maximumDistinctReceipts = maximumDistinctReceipts
    }

    var stats: Stats { counts.withLock { $0.stats } }
    var details: StatsDetails { counts.withLock { $0.details } }

    /// Counts a call of verifyReceipt, whose outcome is decided.
    func begin(at endpoint: Endpoint, _ receipt: Fingerprint?, outcome: String) {
        counts.withLock { counts in
            endpoint == .production ? (counts.stats.production += 1) : (counts.stats.sandbox += 1)
            counts.details.outcomes[endpoint.rawValue, default: [:]][outcome, default: 0] += 1
            counts.details.begin()
            guard let receipt, counts.receipts.count < maximumDistinctReceipts else { return }
            counts.receipts.insert(receipt)
            counts.stats.distinctReceipts = counts.receipts.count
        }
    }

    /// Counts a call of the Server API, whose outcome is decided.
    /// - Parameter operation: nil for an unknown path.
    func begin(_ operation: APIOperation?, at endpoint: Endpoint, outcome: String) {
        let name = operation?.rawValue ?? "unknown"
        counts.withLock { counts in
            counts.stats.serverApi.calls[endpoint.rawValue, default: [:]][name, default: [:]][outcome, default: 0] += 1
            counts.details.begin()
        }
    }

    /// Counts the end of a call, with or without an answer.
    func end() {
        counts.withLock { $0.details.inFlight -= 1 }
    }

    func open(showsWrongCertificate: Bool) {
        counts.withLock { counts in
            counts.details.connections += 1
            counts.details.openConnections += 1
            if showsWrongCertificate { counts.details.wrongCertificates += 1 }
        }
    }

    func close() {
        counts.withLock { $0.details.openConnections -= 1 }
    }

    /// Resets the counts, except the counts of calls in flight and open connections.
    func reset() {
        counts.withLock { counts in
            let details = counts.details
            counts = Counts()
            counts.details.inFlight = details.inFlight
            counts.details.maximumInFlight = details.inFlight
            counts.details.openConnections = details.openConnections
        }
    }
}

/// The counts of the App Store Server API in `GET /stats`.
package struct ServerAPIStats: Hashable, Sendable, Codable {
    /// Calls by endpoint, operation and outcome: `http_200`, `error_4040010`, `http_401`, `reset` and so on.
    package var calls: [String: [String: [String: Int]]] = [:]
    /// Calls with a valid token, by app, environment and operation.
    package var quotas: [Quota] = []

    package struct Quota: Hashable, Sendable, Codable {
        package let bundleId: String
        /// `production` or `sandbox`.
        package let environment: String
        package let operation: String
        package let calls: Int
        /// The calls beyond the hourly limit.
        package let refused: Int
        /// The most calls in any 3,600 seconds, without refused calls.
        package let maximumPerHour: Int
    }
}

/// The counts of server notifications in `GET /stats`.
package struct NotificationStats: Hashable, Sendable, Codable {
    /// Attempts that ended.
    package var sent = 0
    /// Attempts that were acknowledged with a status from 200 to 206.
    package var succeeded = 0
    /// Attempts that ended otherwise.
    package var failed = 0
    /// Notifications before or in their first attempt, and retries in flight.
    package var pending = 0
    /// Notifications that wait for a retry.
    package var pendingRetries = 0

    package init() {}

    mutating func count(_ result: SendAttemptResult) {
        sent += 1
        result == .success ? (succeeded += 1) : (failed += 1)
    }
}
