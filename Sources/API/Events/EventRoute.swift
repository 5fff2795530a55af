// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Resilience

/// `GET /v1/events`: the events of a client's apps, as a page, after a wait if there are none, or as a stream.
///
/// ```
/// request ──▶ query, apps, cursor ──▶ slot ──▶ admit ──▶ read ──▶ page
///               │ fault                                  │  ▲ └──▶ stream, part by part
///               └──▶ charge, problem               empty └──┘ wait
/// ```
package struct EventRoute: Sendable {
    private let reader: EventReader
    private let watcher: EventWatcher
    private let access: CurrentAccess
    private let charging: RequestCharging
    private let settings: EventRouteSettings
    private let waiting = WaitingReaders()

    package init(
        _ reader: EventReader, watcher: EventWatcher, access: CurrentAccess, charging: RequestCharging,
        settings: EventRouteSettings
    ) {
        (self.reader, self.watcher, self.access) = (reader, watcher, access)
        (self.charging, self.settings) = (charging, settings)
    }

    package var route: Route {
        Route(
            .get, RouteLabel.events.rawValue, bodyLimit: .bytes(0),
            waitLimit: .seconds(WaitingReaders.Limits.seconds), endsWithClient: true
        ) { context, _ in try answer(context) }
    }

    private func answer(_ context: RequestContext) throws -> Step<Reply, any Error> {
        guard settings.isStored else { throw Problem.eventsNotStored }
        let call: EventsCall
        do {
            call = try EventsCall(context.header, of: context.client, keepsSignedData: settings.keepsSignedData)
        } catch {
            return try charging.refuse(error, to: context.client, in: context)
        }
        let slot = call.isWaiting ? try waiting.acquire(context.client.name) : nil
        let access = access.now
        // The header may have come long before the end of the request, with a key or for an app that is gone by now.
        guard access.knows(context.client) else { throw Problem.unauthenticated }
        let app = call.apps.count == 1 ? call.apps[0] : nil
        return try charging.admit(context, about: app, isLong: slot != nil) {
            defer { withExtendedLifetime(slot) {} }
            let start = try await cursor(of: call)
            guard call.isStream else { return try await page(call, after: start, access, context) }
            return try await stream(call, after: start, access, slot)
        }
    }

    private func cursor(of call: EventsCall) async throws(StoreUnreachable) -> EventCursor {
        if let start = call.start { return start }
        guard let latest = await reader.latest(of: call.apps) else { throw StoreUnreachable() }
        return latest
    }

    /// Returns the next page, once there is something in it or the time has passed.
    private func page(
        _ call: EventsCall, after cursor: EventCursor, _ access: Access, _ context: RequestContext
    ) async throws(StoreUnreachable) -> Reply {
        let isHead = context.header.isHead
        let end = ContinuousClock.now + (isHead ? .zero : call.wait)
        var request = call.request(after: cursor)
        while true {
            guard let page = await reader.page(onOtherThreads: request) else { throw StoreUnreachable() }
            let left = end - .now
            guard page.isEmpty, left > .zero else { return page.reply(call) }
            request.cursor = page.next
            if page.hasMore { continue }
            let start = ContinuousClock.now
            let outcome = await watcher.wait(for: request.positions, upTo: left)
            context.record { $0.waited += .now - start }
            guard outcome == .changed, access === self.access.now else { return page.reply(call) }
        }
    }

    /// Returns a stream that begins with the next page, so that an unreachable store is a problem, not an end.
    private func stream(
        _ call: EventsCall, after cursor: EventCursor, _ access: Access, _ slot: WaitingReader?
    ) async throws(StoreUnreachable) -> Reply {
        let request = call.request(after: cursor)
        guard let page = await reader.page(onOtherThreads: request) else { throw StoreUnreachable() }
        let feed = EventFeed(
            request, reader: reader, watcher: watcher, times: settings.streamTimes, slot: slot,
            isPermitted: { [current = self.access] in current.now === access })
        let first = feed.begin(with: page)
        return Reply(
            fields: [.contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no"],
            stream: ReplyStream(
                first: first, parts: AsyncStream { await feed.next() },
                partDeadline: TimeAmount(settings.streamTimes.stall)))
    }
}

package struct EventRouteSettings: Sendable {
    /// False if events would end with the process, and that is not permitted.
    var isStored: Bool
    var keepsSignedData: Bool
    var streamTimes = EventStreamTimes()

    package init(isStored: Bool, keepsSignedData: Bool) {
        (self.isStored, self.keepsSignedData) = (isStored, keepsSignedData)
    }
}

extension EventReader {
    /// Returns the next page, decrypted and merged off the event loop: that takes milliseconds for a large page.
    func page(onOtherThreads request: EventReadRequest) async -> MergedEventPage? {
        await withTaskExecutorPreference(globalConcurrentExecutor) { await page(request) }
    }
}

extension MergedEventPage {
    fileprivate func reply(_ call: EventsCall) -> Reply {
        let bytes = entries.reduce(256) { $0 + $1.event.json.count + $1.event.signedData.count }
        let json = JSONWriter.object(reservingCapacity: bytes) { json in
            json.array("events") { json in
                for entry in entries { json.value(entry.event.json(includingSignedData: call.includesSignedData)) }
            }
            json.member("next", next.text)
            json.member("has_more", hasMore)
            json.objects("missed", of: missed.sorted { $0.key < $1.key }) { $0.members($1.value, of: $1.key) }
        }
        return Reply(json: json, fields: .ofUnstoredJSON)
    }
}

extension JSONWriter {
    mutating func members(_ missed: MissedEvents, of bundleID: String) {
        member("bundle_id", bundleID)
        key("count")
        if let count = missed.count { integer(count) } else { null() }
    }
}
