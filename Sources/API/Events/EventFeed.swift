// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import JSON
internal import NIOCore
internal import Synchronization

/// The times of event streams.
struct EventStreamTimes: Hashable, Sendable {
    /// The time after which a stream without events sends a comment, so that proxies do not end it.
    var heartbeat: Duration = .seconds(15)
    /// The time after which a stream ends: connections move to other nodes, and keys that expired are noticed.
    var maximumAge: Duration = .seconds(3600)
    /// The time after which a client that does not read is disconnected.
    var stall: Duration = .seconds(60)
}

/// A stream of server-sent events (HTML Living Standard, §9.2). Each part is made once the client has read the previous
/// part, so that a slow client reads the log slowly and needs no memory.
final class EventFeed: Sendable {
    enum Limits {
        static let pageCount = 100
        /// The time after which a client that was disconnected connects again.
        static let retryMilliseconds = 2000
    }

    private let position: Mutex<EventFeedPosition>
    private let reader: EventReader
    private let watcher: EventWatcher
    private let times: EventStreamTimes
    private let end: ContinuousClock.Instant
    private let slot: WaitingReader?
    private let isPermitted: @Sendable () -> Bool

    /// - Parameter isPermitted: false once the client's permission must be checked again.
    init(
        _ request: EventReadRequest, reader: EventReader, watcher: EventWatcher, times: EventStreamTimes,
        slot: WaitingReader?, isPermitted: @escaping @Sendable () -> Bool
    ) {
        (self.reader, self.watcher, self.times) = (reader, watcher, times)
        (self.slot, self.isPermitted) = (slot, isPermitted)
        position = Mutex(EventFeedPosition(request))
        end = .now + times.maximumAge
    }

    func begin(with page: MergedEventPage) -> ByteBuffer {
        position.withLock { position in
            var part = ByteBuffer()
            part.writeString("retry: \(Limits.retryMilliseconds)\nid: \(position.request.cursor.text)\n\n")
            part.writeImmutableBuffer(position.advance(by: page))
            return part
        }
    }

    /// Returns the next part, as soon as there is something to send; nil at the end.
    func next() async -> ByteBuffer? {
        let silence = min(.now + times.heartbeat, end)
        while isPermitted(), !watcher.isStopped, !Task.isCancelled, .now < end {
            // Without the store the stream ends. The client connects again, and learns the reason.
            let request = position.withLock(\.request)
            guard let page = await reader.page(onOtherThreads: request) else { return nil }
            let (part, positions) = position.withLock { ($0.advance(by: page), $0.request.positions) }
            if !page.isEmpty { return part }
            let left = silence - .now
            guard left > .zero else { return position.withLock { $0.heartbeat() } }
            if page.hasMore { continue }
            let outcome = await watcher.wait(for: positions, upTo: left)
            if outcome == .elapsed { return position.withLock { $0.heartbeat() } }
        }
        return nil
    }
}

/// The position of a stream, and the text that moves it.
private struct EventFeedPosition {
    private(set) var request: EventReadRequest
    /// The cursor that the client knows.
    private var sent: EventCursor

    init(_ request: EventReadRequest) { (self.request, sent) = (request, request.cursor) }

    /// Returns the text of a page, which counts as read from then on.
    mutating func advance(by page: MergedEventPage) -> ByteBuffer {
        var part = ByteBuffer()
        for (app, missed) in page.missed.sorted(by: { $0.key < $1.key }) { part.write(missed, of: app, page.start) }
        var cursor = page.start
        for entry in page.entries {
            cursor[entry.partition] = entry.position
            part.write(entry.event, signedData: request.includesSignedData, cursor)
        }
        request.cursor = page.next
        if !page.isEmpty { sent = cursor }
        return part
    }

    /// Returns a comment, with the cursor if events of other types have moved it.
    mutating func heartbeat() -> ByteBuffer {
        guard sent != request.cursor else { return ByteBuffer(string: ":\n\n") }
        sent = request.cursor
        // Without data no event is dispatched, and the client keeps the ID.
        return ByteBuffer(string: ":\nid: \(sent.text)\n\n")
    }
}

extension ByteBuffer {
    /// The JSON of an event has no line ends.
    fileprivate mutating func write(_ event: Event, signedData: Bool, _ cursor: EventCursor) {
        writeString("id: \(cursor.text)\nevent: \(event.type.rawValue)\ndata: ")
        writeBytes(event.json(includingSignedData: signedData))
        writeString("\n\n")
    }

    fileprivate mutating func write(_ missed: MissedEvents, of bundleID: String, _ cursor: EventCursor) {
        writeString("id: \(cursor.text)\nevent: missed\ndata: ")
        writeBytes(JSONWriter.object { $0.members(missed, of: bundleID) })
        writeString("\n\n")
    }
}
