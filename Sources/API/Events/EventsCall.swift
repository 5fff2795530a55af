// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import HTTPTypes

/// A valid request for events.
struct EventsCall: Sendable {
    enum Start: Hashable, Sendable {
        /// The beginning of the logs, for a cursor without positions.
        case cursor(EventCursor)
        /// The newest events, which are left out.
        case latest
    }

    /// In the order of their bundle IDs.
    let apps: [String]
    let start: Start
    let types: Set<EventType>?
    let maximumCount: Int
    let includesSignedData: Bool
    let wait: Duration
    let isStream: Bool

    /// - Throws: the problem of the query, or `GatewayError` for an app that is not the client's.
    init(_ header: RequestHeader, of client: Client, keepsSignedData: Bool) throws {
        let query = try EventsQuery(header.query)
        apps = try query.apps(of: client)
        isStream = header.acceptsEventStream
        if isStream, let other = [EventsQuery.Parameter.limit, .wait].first(where: query.has) {
            throw Problem.invalidQuery(other, "does not apply to a stream")
        }
        start = try Self.start(query, isStream ? header.values(of: "Last-Event-ID") : [], apps)
        types = try query.types()
        (maximumCount, wait) = (try query.count(), try query.wait())
        includesSignedData = try query.wantsSignedData()
        guard keepsSignedData || !includesSignedData else { throw Problem.signedDataNotKept }
    }

    /// True if the request may last long.
    var isWaiting: Bool { isStream || wait > .zero }

    private static func start(_ query: EventsQuery, _ lastEventIDs: [String], _ apps: [String]) throws(Problem) -> Start
    {
        guard lastEventIDs.count < 2 else { throw .invalidCursor }
        let after = try query.after()
        guard let text = lastEventIDs.first ?? after else { return .cursor(EventCursor()) }
        if text == "latest" { return .latest }
        guard let cursor = EventCursor(text: text), cursor.apps.isSubset(of: apps) else { throw .invalidCursor }
        return .cursor(cursor)
    }
}

extension EventsQuery {
    /// Returns the apps that the query names, or all of the client's.
    fileprivate func apps(of client: Client) throws -> [String] {
        guard bundleIDs.allSatisfy(client.apps.contains) else { throw GatewayError.appNotPermitted }
        var apps = Set(bundleIDs)
        if apps.isEmpty {
            guard case .only(let own) = client.apps, own.count <= EventReader.Limits.apps else {
                throw Problem.appsRequired
            }
            apps = own
        }
        guard apps.count <= EventReader.Limits.apps else { throw Problem.tooManyApps }
        guard apps.allSatisfy(\.isBundleID) else { throw Problem.notABundleID }
        return apps.sorted()
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
