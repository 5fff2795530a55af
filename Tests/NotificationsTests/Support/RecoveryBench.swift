// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Synchronization

@testable import Customers

/// Nodes with one store, and Apple's history in the test's hands.
struct RecoveryBench: Sendable {
    let apple: ScriptedHistory
    let store: EmbeddedNotificationStore
    let clock: SteppedClock
    let events = RecoveryEvents()

    init(storeBytes: Int = 64 << 20) {
        let clock = SteppedClock(RecoverySamples.now)
        self.clock = clock
        apple = ScriptedHistory(now: RecoverySamples.now)
        let log = EmbeddedEventLog(EventRetention(maximumCount: 1000, maximumAge: .seconds(86_400))) { clock.time }
        store = EmbeddedNotificationStore(
            isPermitted: true, maximumBytes: storeBytes, log: log,
            rules: EventRules(), relays: { _ in false }
        ) { clock.time }
    }

    /// Starts a node. Its first run is due at once.
    func node(
        _ apps: Set<String> = [RecoverySamples.app], progress: (any RecoveryProgress)? = nil
    ) -> NotificationRecovery {
        NotificationRecovery(
            from: apple, into: RecoverySamples.intake(store), progress: progress ?? store, apps: { apps },
            interval: .seconds(3600), startDelay: .zero, observe: events.observe, clock: { [clock] in clock.time })
    }

    /// Reads histories until nothing is due, and returns the queries to Apple.
    func queries(of node: NotificationRecovery) async -> [String] {
        apple.clear()
        var count = -1
        while apple.queries.count > count {
            count = apple.queries.count
            await node.runDue()
        }
        return apple.queries
    }

    /// The notifications that wait to be applied.
    var stored: Int {
        AppPartition.all(of: RecoverySamples.app).reduce(0) { $0 + (store.survey($1)?.entries ?? 0) }
    }

    /// Applies what is stored, so that the store has room.
    func empty() {
        for partition in AppPartition.all(of: RecoverySamples.app) {
            let taken = store.take(from: partition, includingStalled: true)
            store.finish(taken.map { FinishedNotification(taken: $0) }, in: partition)
        }
    }

    /// The time up to which the history is read, in seconds from the bench's start.
    func recovered(_ environment: Environment = .production) -> Int64? {
        store.recovered(RecoverySamples.app, environment).map(RecoverySamples.seconds)
    }
}

/// A store that does not answer once when it is asked for the progress.
final class InterruptedProgress: RecoveryProgress {
    private let store: EmbeddedNotificationStore
    private let isInterrupted = Mutex(false)

    init(_ store: EmbeddedNotificationStore) { self.store = store }

    func interrupt() { isInterrupted.withLock { $0 = true } }

    func recovered(_ bundleID: String, _ environment: Environment) async throws(StoreUnreachable) -> Timestamp? {
        let fails = isInterrupted.withLock { isInterrupted in
            defer { isInterrupted = false }
            return isInterrupted
        }
        if fails { throw StoreUnreachable() }
        return store.recovered(bundleID, environment)
    }

    func record(recovered time: Timestamp, _ bundleID: String, _ environment: Environment) async {
        store.record(recovered: time, bundleID, environment)
    }

    func begin(_ bundleID: String, _ environment: Environment, lease: Duration) async -> Bool {
        store.begin(bundleID, environment, lease: lease)
    }

    func end(_ bundleID: String, _ environment: Environment) async { store.end(bundleID, environment) }
}

enum RecoverySamples {
    static let pki = TransactionPKI(seed: 1)
    static let app = "com.example.forge"
    /// The start of each bench.
    static let now = TransactionContents.signedByDefault.advanced(by: .seconds(60))

    /// Trusts the forge's root for Production and Sandbox.
    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    static func intake(_ store: EmbeddedNotificationStore) -> NotificationIntake {
        let apps = NotificationApps(
            isConfigured: { $0 == app }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in false })
        return NotificationIntake(
            NotificationVerifier(CurrentVerifier(verifier), apps: apps), queue: store,
            observe: RecoveryEvents().observe,
            onStored: { _ in })
    }

    static func time(_ seconds: Int64) -> Timestamp { now.advanced(by: .seconds(seconds)) }

    static func seconds(_ time: Timestamp) -> Int64 {
        (time.millisecondsSince1970 - now.millisecondsSince1970) / 1000
    }

    /// Returns a notification that was signed some seconds after the bench's start.
    static func notification(
        _ number: Int, at seconds: Int64, in environment: Environment = .production,
        _ edit: (inout NotificationContents) -> Void = { _ in }
    ) -> [UInt8] {
        var contents = NotificationContents()
        let digits = String(number)
        contents.notificationUUID =
            "0f2b7a52-8c14-4b8e-8a5e-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
        contents.signedDate = time(seconds)
        contents.data?.environment = environment.rawValue
        edit(&contents)
        return pki.jws(contents)
    }
}

/// Apple's notification history as a test writes it.
final class ScriptedHistory: NotificationHistory {
    private struct Entry {
        let seconds: Int64
        let environment: Environment
        let payload: [UInt8]
        let isFailure: Bool
    }

    private struct State {
        var entries: [Entry] = []
        var queries: [String] = []
        var faults: [Environment: DegradedReason] = [:]
        var faultsOnPages: [Int: DegradedReason] = [:]
        var emptyPages = 0
        var appsWithoutKey: Set<String> = []
    }

    private let now: Timestamp
    private let state = Mutex(State())
    static let pageSize = 20

    init(now: Timestamp) { self.now = now }

    /// Adds a notification. One that no server acknowledged is a failure.
    func add(
        _ number: Int, at seconds: Int64, in environment: Environment = .production, isFailure: Bool = false,
        _ edit: (inout NotificationContents) -> Void = { _ in }
    ) {
        let payload = RecoverySamples.notification(number, at: seconds, in: environment, edit)
        add(payload, at: seconds, in: environment, isFailure: isFailure)
    }

    func add(_ payload: [UInt8], at seconds: Int64, in environment: Environment = .production, isFailure: Bool = false)
    {
        let entry = Entry(seconds: seconds, environment: environment, payload: payload, isFailure: isFailure)
        state.withLock { $0.entries.append(entry) }
    }

    /// Makes every call about an environment fail, until it is nil again.
    func fail(_ reason: DegradedReason?, in environment: Environment) {
        state.withLock { $0.faults[environment] = reason }
    }

    /// Makes one call fail, by its number since the last `clear`.
    func fail(_ reason: DegradedReason, atQuery number: Int) {
        state.withLock { $0.faultsOnPages[number] = reason }
    }

    /// Adds pages without notifications before the first one of each reading of all notifications.
    func addEmptyPages(_ count: Int) { state.withLock { $0.emptyPages = count } }

    func removeKey(ofApp bundleID: String) { state.withLock { _ = $0.appsWithoutKey.insert(bundleID) } }

    func clear() { state.withLock { ($0.queries, $0.faultsOnPages) = ([], [:]) } }

    /// The queries since the last `clear`, as `Production -600..0 failures from 20`.
    var queries: [String] { state.withLock(\.queries) }

    func isAvailable(forApp bundleID: String) -> Bool { state.withLock { !$0.appsWithoutKey.contains(bundleID) } }

    func page(
        _ query: NotificationHistoryQuery, after token: String?
    ) async throws(DegradedReason) -> NotificationHistoryPage {
        let (start, end) = (RecoverySamples.seconds(query.start), RecoverySamples.seconds(query.end))
        return try state.withLock { state throws(DegradedReason) in
            var line = "\(query.environment) \(start)..\(end) \(query.onlyFailures ? "failures" : "all")"
            if let token { line += " from \(token)" }
            state.queries.append(line)
            if let fault = state.faults[query.environment] ?? state.faultsOnPages[state.queries.count] { throw fault }
            let entries = state.entries.filter { entry in
                entry.environment == query.environment && (start..<end).contains(entry.seconds)
                    && (entry.isFailure || !query.onlyFailures)
            }
            let first = token.flatMap { Int($0) } ?? (query.onlyFailures ? 0 : -state.emptyPages * Self.pageSize)
            let next = first + Self.pageSize
            let page = first < 0 ? [] : entries.dropFirst(first).prefix(Self.pageSize).map(\.payload)
            return NotificationHistoryPage(page, next: next < entries.count || next <= 0 ? String(next) : nil)
        }
    }
}

/// Records the outcomes of recoveries.
final class RecoveryEvents: Sendable {
    private let recorded = Mutex<[Bool]>([])

    func observe(_ event: NotificationEvent) {
        if case .recovery(let isSuccess) = event { recorded.withLock { $0.append(isSuccess) } }
    }

    var recoveries: [Bool] { recorded.withLock(\.self) }
}

/// A clock that stands still until it is advanced.
final class SteppedClock: Sendable {
    private let now: Mutex<Timestamp>

    init(_ now: Timestamp) { self.now = Mutex(now) }

    var time: Timestamp { now.withLock(\.self) }
    func advance(by seconds: Int64) { now.withLock { $0 = $0.advanced(by: .seconds(seconds)) } }
}
