// SPDX-License-Identifier: Apache-2.0

import Customers
import Logging
import NIOHTTP1
import Receipts
import Synchronization
import TestSupport

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Telemetry

/// The routes and the check of ownership, over a store that may be unreachable.
final class OwnershipSite: Sendable {
    static let app = "com.example.shop"

    let store: UnreliableOwnershipStore
    let events = RecordedValues<OwnershipEvent>()
    let log = LogLines()
    let check: OwnershipCheck
    private let announced = RecordedValues<AppPartition>()
    private let client: Client
    private let pipeline: RequestPipeline

    init(client: Client = OwnershipSite.client(), holdsReports: Bool = false) throws {
        let charging = try RequestCharging.forTests()
        self.client = client
        store = UnreliableOwnershipStore(holdsReports: holdsReports)
        // Lines of changes are written whatever the level.
        let settings = LogSettings(LogSettings.Values(level: .critical)), logger = log.logger(settings)
        check = OwnershipCheck(
            store, rules: OwnershipRules(), observe: events.add, onEvents: announced.add,
            clock: { UnreliableOwnershipStore.now })
        pipeline = RequestPipeline(
            OwnershipRoutes(store, charging: charging, logger: logger).routes, logger: logger, writingTo: log, settings)
    }

    static func client(
        apps: PermittedApps = .only([app]), may: Set<Client.Permission> = [.ownership],
        ownership: OwnershipPolicy = .report
    ) -> Client {
        Client(name: "shop", apps: apps, keys: [], may: may, ownership: ownership)
    }

    static func chain(_ id: String, _ environment: Environment = .production, bundleID: String = app) -> PurchaseChain {
        PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
    }

    /// Sends a request about a purchase; `target` is its ID, with the query.
    func send(
        _ method: HTTPMethod, _ target: String, _ body: String = "", contentType: String = "application/json"
    ) async throws -> Reply {
        try await pipeline.answer(method, "/v1/ownership/\(target)", body, contentType, as: client)
    }

    /// Uses a purchase, and returns its binding.
    func binding(_ chain: PurchaseChain, by id: String) async -> RecordedUse.Binding? {
        guard let account = Account(id) else { return nil }
        return await store.record(account, using: [chain])?.first?.binding
    }

    /// The partitions with new events.
    var announcements: [AppPartition] { announced.all }

    /// The lines of changes.
    var audit: [String] { log.containing("Change of ownership") }
}

/// A store in this process that can be unreachable, for everything or for reports alone.
final class UnreliableOwnershipStore: OwnershipStore {
    enum Fault { case all, reports }

    static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

    let log = EmbeddedEventLog(
        EventRetention(maximumCount: 800, maximumAge: .seconds(86_400)), clock: { UnreliableOwnershipStore.now })
    private let store: EmbeddedOwnershipStore
    private let fault = Mutex<Fault?>(nil)
    private let attempts = Mutex(0)
    /// Holds reports back while it is closed.
    private let gate = Gate()

    init(holdsReports: Bool = false) {
        store = EmbeddedOwnershipStore(OwnershipRules(), log: log, clock: { Self.now })
        if !holdsReports { gate.open() }
    }

    /// The reports that were begun.
    var reports: Int { attempts.withLock { $0 } }

    func releaseReports() { gate.open() }

    func fail(_ fault: Fault?) { self.fault.withLock { $0 = fault } }

    /// The events about a chain.
    func events(about chain: PurchaseChain) -> [Event] {
        let batches = log.read([EventQuery(chain.partition, after: .start, maximum: 100)])
        let events = batches?.flatMap { $0.events.map(\.event) } ?? []
        return events.filter { $0.originalTransactionID == chain.originalTransactionID }
    }

    private func reach() throws(StoreUnreachable) {
        if fault.withLock({ $0 == .all }) { throw StoreUnreachable() }
    }

    func record(_ account: Account, using chains: [PurchaseChain]) async -> [RecordedUse]? {
        guard fault.withLock({ $0 != .all }) else { return nil }
        return store.record(account, using: chains)
    }

    func report(_ event: Event, about chain: PurchaseChain) async throws(StoreUnreachable) -> Bool {
        attempts.withLock { $0 += 1 }
        await gate.pass()
        guard fault.withLock({ $0 == nil }) else { throw StoreUnreachable() }
        return store.report(event, about: chain)
    }

    func transfer(_ chain: PurchaseChain, to account: Account) async throws(StoreUnreachable) {
        try reach()
        store.transfer(chain, to: account)
    }

    func forget(_ chain: PurchaseChain) async throws(StoreUnreachable) -> Bool {
        try reach()
        return store.forget(chain)
    }

    func chains(of account: Account, in bundleID: String) async throws(StoreUnreachable) -> Set<PurchaseChain> {
        try reach()
        return store.chains(of: account, in: bundleID)
    }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        try reach()
        return store.erase(subject)
    }
}
