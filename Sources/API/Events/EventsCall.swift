// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer

/// A valid request for events. The parameters of its query are of a closed list.
struct EventsCall: Sendable {
    enum Limits {
        static let items = 64
        static let count = 1...1000
        static let defaultCount = 100
    }

    enum Parameter: String, CaseIterable {
        case after
        case bundleID = "bundle_id"
        case limit
        case signedData = "signed_data"
        case types
        case wait
    }

    /// In the order of their bundle IDs.
    let apps: [String]
    /// Nil to begin after the newest events.
    let start: EventCursor?
    /// Nil for all types.
    let types: Set<EventType>?
    let maximumCount: Int
    let includesSignedData: Bool
    let wait: Duration
    let isStream: Bool

    /// - Throws: the problem of the query, or `GatewayError` for an app that is not the client's.
    init(_ header: RequestHeader, of client: Client, keepsSignedData: Bool) throws {
        let query = try QueryParameters<Parameter>(header.query, maximumCount: Limits.items)
        apps = try Self.apps(query.all(.bundleID), of: client)
        isStream = header.acceptsEventStream
        if isStream, let other = [Parameter.limit, .wait].first(where: { !query.all($0).isEmpty }) {
            throw Problem.invalidQuery(other, "does not apply to a stream")
        }
        start = try Self.start(query, isStream ? header.values(of: "Last-Event-ID") : [], apps)
        types = try query.only(.types).map(Self.types)
        maximumCount = try query.only(.limit).map(Self.count) ?? Limits.defaultCount
        wait = try query.seconds(.wait, upTo: WaitingReaders.Limits.seconds)
        includesSignedData = try query.only(.signedData).map(Self.flag) ?? false
        guard keepsSignedData || !includesSignedData else {
            throw Problem.invalidQuery(
                Parameter.signedData,
                "is not available: this gateway does not keep what Apple signed. Set gateway.events.keep_signed_data")
        }
    }

    /// True if the request may last long.
    var isWaiting: Bool { isStream || wait > .zero }

    func request(after cursor: EventCursor) -> EventReadRequest {
        EventReadRequest(
            apps, after: cursor, types: types, maximumCount: isStream ? EventFeed.Limits.pageCount : maximumCount,
            includesSignedData: includesSignedData)
    }

    private static func start(
        _ query: QueryParameters<Parameter>, _ lastEventIDs: [String], _ apps: [String]
    ) throws(Problem) -> EventCursor? {
        guard lastEventIDs.count < 2 else { throw .invalidCursor }
        let after = try query.only(.after)
        guard let text = lastEventIDs.first ?? after else { return EventCursor() }
        if text == "latest" { return nil }
        guard let cursor = EventCursor(text: text), cursor.apps.isSubset(of: apps) else { throw .invalidCursor }
        return cursor
    }

    /// Returns the apps that the query names, or all of the client's.
    private static func apps(_ named: [String], of client: Client) throws -> [String] {
        for app in named { try client.apps.require(app) }
        var apps = Set(named)
        if apps.isEmpty {
            guard case .only(let own) = client.apps, own.count <= EventReader.Limits.apps else {
                throw Problem.appsRequired
            }
            apps = own
        }
        guard apps.count <= EventReader.Limits.apps else {
            throw Problem.invalidQuery(Parameter.bundleID, "may name at most \(EventReader.Limits.apps) apps")
        }
        guard apps.allSatisfy(\.isBundleID) else { throw Problem.invalidQuery(Parameter.bundleID, "is no bundle ID") }
        return apps.sorted()
    }

    private static func types(_ text: String) throws(Problem) -> Set<EventType> {
        var types: Set<EventType> = []
        for pattern in text.split(separator: ",", omittingEmptySubsequences: false) {
            let named = EventType.matching(pattern)
            guard !named.isEmpty else {
                throw .invalidQuery(
                    Parameter.types, "is a list of event types, such as purchase.completed,subscription.*")
            }
            types.formUnion(named)
        }
        return types
    }

    private static func count(_ text: String) throws(Problem) -> Int {
        guard let count = Int(text), Limits.count.contains(count) else {
            throw .invalidQuery(Parameter.limit, "is from \(Limits.count.lowerBound) to \(Limits.count.upperBound)")
        }
        return count
    }

    private static func flag(_ text: String) throws(Problem) -> Bool {
        guard let flag = Bool(text) else { throw .invalidQuery(Parameter.signedData, "is true or false") }
        return flag
    }
}

extension RequestHeader {
    /// True if a media range of `Accept` names event streams (RFC 9110 §12.5.1), whatever its parameters are.
    fileprivate var acceptsEventStream: Bool {
        values(of: "Accept").flatMap { $0.lowercased().split(separator: ",") }.contains { range in
            range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } == "text/event-stream"
        }
    }
}
