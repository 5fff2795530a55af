// SPDX-License-Identifier: Apache-2.0

import Customers
import Foundation
import Gateway
import Logging
import Receipts
import Synchronization
import TestSupport

@testable import API
@testable import Clients
@testable import HTTPServer

/// `GET /v1/events` behind a real listener, for two clients, over logs in this process.
struct EventSite: Surroundings {
    @TaskLocal private static var running: EventSite?
    static var local: TaskLocal<EventSite?> { $running }

    static let app = "com.example.shop"
    static let otherApp = "com.example.news"

    let log: EmbeddedEventLog
    let watcher: EventWatcher
    let access: CurrentAccess
    let port: Int
    /// Of `shop`, whose app is `app`; of `news`, which has two apps; of `any`, which may use every app.
    let keys: [String: APIKey]

    private static let pepper = RunningGateway.pepper

    private static func client(_ name: String, _ apps: PermittedApps, _ key: APIKey, _ limits: ClientLimits) -> Client {
        let hash = KeyHasher(pepper: pepper).hash(key.secret)
        return Client(name: name, apps: apps, keys: [StoredKey(id: key.id, hash: hash, expires: nil)], limits: limits)
    }

    static func with(
        maximumCount: Int = 100_000, limits: ClientLimits = ClientLimits(), answer: Duration = .seconds(3600),
        reading change: (any EventLog) -> any EventLog = { $0 },
        settings changeSettings: (inout EventRouteSettings) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation, _ body: (EventSite) async throws -> Void
    ) async throws {
        // Each event is a millisecond after the one before.
        let time = Milliseconds()
        let log = EmbeddedEventLog(EventRetention(maximumCount: maximumCount, maximumAge: .seconds(86_400))) {
            Timestamp(millisecondsSince1970: time.next())
        }
        let read = change(log), watcher = EventWatcher(read)
        let keys = ["shop": APIKey.random(), "news": APIKey.random(), "any": APIKey.random()]
        let apps: [String: PermittedApps] = ["shop": .only([app]), "news": .only([app, otherApp]), "any": .all]
        let clients = keys.map { client($0, apps[$0] ?? .only([]), $1, limits) }
        let access = CurrentAccess(Access(AccessRules(clients: clients, pepper: pepper)))
        var settings = EventRouteSettings(isStored: true, keepsSignedData: true)
        changeSettings(&settings)
        let route = EventRoute(
            EventReader(read), watcher: watcher, access: access, charging: try .forTests(), settings: settings
        ).route
        try await listen(to: route, access, answer: answer) { port in
            try await body(
                EventSite(log: log, watcher: watcher, access: access, port: port, keys: keys))
        }
    }

    private final class Milliseconds: Sendable {
        private let last = Atomic<Int64>(1_000_000)

        func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
    }

    /// Runs a listener for one route around `body`, which gets its port. It has no clients unless some are given.
    static func listen(
        to route: Route, _ access: CurrentAccess = CurrentAccess(Access(AccessRules(clients: []))),
        answer: Duration = .seconds(3600), isolation: isolated (any Actor)? = #isolation,
        _ body: (Int) async throws -> Void
    ) async throws {
        var http = HTTPConfiguration()
        http.listener.port = 0
        http.hostNames = HostNames(["x"])
        http.deadlines = HTTPDeadlines(
            headers: .seconds(3600), request: .seconds(3600), answer: answer, idle: .seconds(3600))
        let rules = EdgeRules(http, shutdown: ShutdownConfiguration()) { credentials in
            access.now.authenticator.client(with: credentials, at: .now())
        }
        let logger = Logger.silent
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let listener = HTTPListener(
            plane: .data, address: http.listener, http: http, rules: rules, budget: BodyBudget(.mebibytes(1)),
            lifecycle: ServerLifecycle(),
            pipeline: RequestPipeline(routes: RouteTable([route]), log: RequestLog(logger: nil), logger: logger),
            logger: logger
        ) { listening.yield($0) }
        let running = Task { try await listener.run() }
        defer { running.cancel() }
        for await port in ports { return try await body(port) }
    }
}

// MARK: - Events

extension EventSite {
    /// Adds an event with this number, which is its chain unless one is named.
    @discardableResult
    func add(
        _ number: Int, chain: Int? = nil, app: String = app, type: EventType = .subscriptionRenewed,
        announces: Bool = true
    ) -> Event {
        let event = Event(
            id: "evt_\(number)", type: type, bundleID: app, environment: .production,
            originalTransactionID: String(chain ?? number), occurredAt: Timestamp(millisecondsSince1970: 0),
            json: Array(#"{"id":"evt_\#(number)","type":"\#(type.rawValue)"}"#.utf8),
            signedData: Array(#"{"signed_transaction":"e30.e30.AA"}"#.utf8))
        log.append(event, to: .events, of: event.partition)
        if announces { watcher.announce(event.partition) }
        return event
    }
}

// MARK: - Requests

extension EventSite {
    func request(_ query: String = "", as client: String = "shop", _ fields: [String] = []) -> String {
        let head = ["GET /v1/events\(query) HTTP/1.1", "Host: x", "X-API-Key: \(keys[client]?.exposed ?? "")"] + fields
        return head.joined(separator: "\r\n") + "\r\n\r\n"
    }

    func get(_ query: String = "", as client: String = "shop", _ fields: [String] = []) async throws -> EventAnswer {
        try await RawConnection.with(port: port) { connection in
            try await connection.send(request(query, as: client, fields))
            return EventAnswer(try await connection.answer())
        }
    }

    /// Opens a stream around `body`, which reads its text.
    func stream(
        _ query: String = "", as client: String = "shop", _ fields: [String] = [],
        isolation: isolated (any Actor)? = #isolation, _ body: (RawConnection) async throws -> Void
    ) async throws {
        try await RawConnection.with(port: port) { connection in
            try await connection.send(request(query, as: client, ["Accept: text/event-stream"] + fields))
            try await body(connection)
        }
    }
}

/// A page, or a problem.
struct EventAnswer {
    let raw: RawAnswer?
    private let members: NSDictionary

    init(_ raw: RawAnswer?) {
        self.raw = raw
        members = raw?.body.jsonObject ?? [:]
    }

    var status: Int? { raw?.status }
    var ids: [String] { (members["events"] as? [NSDictionary] ?? []).compactMap { $0["id"] as? String } }
    var next: String { members["next"] as? String ?? "" }
    var hasMore: Bool? { members["has_more"] as? Bool }
    var missed: [NSDictionary]? { members["missed"] as? [NSDictionary] }
    var code: String? { members["code"] as? String }
    var field: String? { members["field"] as? String }
    var detail: String { members["detail"] as? String ?? "" }
}

/// One event of a stream.
struct StreamedEvent: Equatable {
    var id: String?
    var type: String?
    var data: String?

    /// - Parameter text: the lines up to the empty one, which may have the frame of a chunk around them.
    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1).map { String($0.drop { $0 == " " }) }
            switch parts.first {
            case "id": id = parts.last
            case "event": type = parts.last
            case "data": data = parts.last
            default: break
            }
        }
    }
}

extension RawConnection {
    /// Reads events up to the next with data.
    func event(isolation: isolated (any Actor)? = #isolation) async throws -> StreamedEvent {
        while true {
            let text = try await text(upTo: "\n\n")
            let event = StreamedEvent(text)
            if event.data != nil || !text.hasSuffix("\n\n") { return event }
        }
    }
}
