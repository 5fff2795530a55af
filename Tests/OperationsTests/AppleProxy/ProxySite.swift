// SPDX-License-Identifier: Apache-2.0

import Gateway
import Logging
import NIOHTTP1
import Receipts
import Resilience
import Synchronization
import TestSupport

@testable import API
@testable import AppStore
@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// The proxy of one client, in front of a client of the Server API whose results are scripted.
final class ProxySite: Sendable {
    static let app = "com.example.shop"

    let purges: PurgeRecorder
    let log = LogLines()
    let slots = EmbeddedInFlightLimiter()
    private let client: Client
    private let pipeline: RequestPipeline
    private let sent = RecordedValues<ServerAPIRequest>()

    /// - Parameter hasKey: returns true for the apps with a key.
    init(
        client: Client = ProxySite.client(rights: .everyApp(Set(Client.AppleRight.allCases))),
        answering result: ServerAPIResult = .answered(ServerAPIAnswer(httpStatus: 200, body: Array("{}".utf8))),
        canPurge: Bool = true, hasKey: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws {
        self.client = client
        purges = PurgeRecorder(isReachable: canPurge)
        // Lines of changes are written whatever the level.
        let logger = log.logger(LogSettings(LogSettings.Values(level: .critical)))
        let settings = LogSettings(LogSettings.Values(level: .info, requests: .all))
        let proxy = AppleProxy(
            send: { [sent] request, _ in
                sent.add(request)
                return result
            },
            hasKey: hasKey, invalidation: CacheInvalidation(purges, observe: { _ in }),
            charging: RequestCharging(
                ClientAdmission(rates: EmbeddedRateLimiter(), slots: slots),
                metrics: LimitMetrics(try PrometheusRegistry(MetricCatalogue.all))),
            timeout: .seconds(10), logger: logger)
        pipeline = RequestPipeline(
            proxy.routes, logger: logger, requestLogger: log.logger(settings, metadataProvider: nil), writingTo: log,
            settings)
    }

    static func client(
        apps: PermittedApps = .only([app]), limits: ClientLimits = ClientLimits(), rights: Client.AppleRights
    ) -> Client {
        Client(name: "shop", apps: apps, keys: [], limits: limits, apple: rights)
    }

    /// The calls that were sent to Apple.
    var calls: [ServerAPIRequest] { sent.all }

    var routes: RouteTable { pipeline.routes }

    /// The lines of changes.
    var audit: [String] { log.containing("Change requested of Apple") }

    /// Sends a call; `call` is the path at Apple after `/inApps/`, with its query.
    func ask(
        _ method: HTTPMethod, _ call: String, _ body: String = "", app: String = app, environment: String = "sandbox"
    ) async throws -> Reply {
        try await send(method, "/v1/apple/\(app)/\(environment)/inApps/\(call)", body)
    }

    func ask(_ call: ProxyCall, app: String = app, environment: String = "sandbox") async throws -> Reply {
        try await send(
            call.method, "/v1/apple/\(app)/\(environment)/\(call.root)/\(call.target)", call.body,
            contentType: call.contentType)
    }

    func send(
        _ method: HTTPMethod, _ target: String, _ body: String = "", contentType: String = "application/json"
    ) async throws -> Reply {
        try await pipeline.answer(method, target, body, contentType, as: client)
    }
}

final class PurgeRecorder: ResultPurges {
    private let isReachable: Bool
    private let purged = Mutex<[Purge]>([])
    private let counters = InvalidationCounters()

    init(isReachable: Bool) { self.isReachable = isReachable }

    var ids: [String] { purged.withLock { $0.map(\.id) } }
    /// The apps whose results were purged; nil for all apps.
    var apps: Set<String?> { purged.withLock { Set($0.map(\.bundleID)) } }

    func version(watching ids: [String]) -> InvalidationVersion { counters.version(watching: ids) }

    func knownPurge(of ids: [String], in bundleID: String?, since time: Timestamp) -> KnownPurge { .none }

    func lastPurge(of id: String, in bundleID: String?) -> UInt64 { 0 }

    func purge(_ purges: [Purge]) throws(StoreUnreachable) {
        guard isReachable else { throw StoreUnreachable() }
        purged.withLock { $0 += purges }
    }

    var position: PurgePosition { .beginning }

    func decision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision {
        .current
    }
}
