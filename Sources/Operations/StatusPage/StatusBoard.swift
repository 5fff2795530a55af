// SPDX-License-Identifier: Apache-2.0

package import HTTPServer
internal import HTTPTypes
internal import NIOCore
internal import Receipts
internal import ServiceLifecycle
internal import Settings
internal import Synchronization

/// Keeps the readings of the last minutes, and streams each new reading to the viewers of the status page.
package final class StatusBoard: Sendable {
    enum Limits {
        static let viewers = 16
        /// Earlier samples repeated in each event, so that a viewer that missed a few has no gaps.
        static let repeatedSamples = 5
        static let retryMilliseconds = 2000
        /// The time after which a viewer that takes no data is disconnected.
        static let stall: Duration = .seconds(30)
    }

    private struct State {
        var history: StatusHistory
        var viewers: [Int: AsyncStream<ByteBuffer>.Continuation] = [:]
        var nextViewer = 0
        var isOver = false
    }

    private let sources: StatusSources
    private let state: Mutex<State>

    package init(_ sources: StatusSources) {
        self.sources = sources
        state = Mutex(State(history: StatusHistory(first: sources.reading)))
    }

    var page: StatusPage {
        let history = history
        return StatusPage(
            report: StatusReport(sources, history), readings: history.inOrder,
            configurationText: sources.configuration.effectiveText)
    }

    var json: [UInt8] {
        let history = history
        return StatusReport(sources, history).json(history)
    }

    private var history: StatusHistory { state.withLock { $0.history } }

    // MARK: - Ticks and viewers

    /// Takes a reading, and sends the same bytes to all viewers.
    func tick() {
        let reading = sources.reading
        let (history, viewers) = state.withLock { state in
            state.history.append(reading)
            return (state.history, Array(state.viewers.values))
        }
        guard !viewers.isEmpty else { return }
        let event = event(history, Array(history.inOrder.suffix(Limits.repeatedSamples + 1)))
        for viewer in viewers { viewer.yield(event) }
    }

    /// Admits a viewer: sends all readings, or the readings after its last event, and then each new reading until the
    /// node stops. A slow viewer misses readings.
    /// - Parameter id: the viewer's last event.
    /// - Returns: nil if there are too many viewers, or if the node stops.
    func admit(after id: Timestamp?) -> ReplyStream? {
        let (events, continuation) = AsyncStream.makeStream(of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(1))
        let admitted = state.withLock { state -> (number: Int, history: StatusHistory)? in
            guard !state.isOver, state.viewers.count < Limits.viewers else { return nil }
            state.nextViewer += 1
            state.viewers[state.nextViewer] = continuation
            return (state.nextViewer, state.history)
        }
        guard let (number, history) = admitted else { return nil }
        continuation.onTermination = { [weak self] _ in self?.leave(number) }
        let readings = history.inOrder
        let known = readings.lastIndex { reading in id.map { reading.time <= $0 } ?? false } ?? readings.startIndex
        return ReplyStream(
            first: event(history, Array(readings[known...])), parts: events, partDeadline: TimeAmount(Limits.stall))
    }

    private func leave(_ number: Int) {
        state.withLock { _ = $0.viewers.removeValue(forKey: number) }
    }

    func end() {
        let viewers = state.withLock { state in
            state.isOver = true
            return Array(state.viewers.values)
        }
        for viewer in viewers { viewer.finish() }
    }

    /// Formats an event of a stream (HTML Living Standard, "Server-sent events"); its JSON has no line ends.
    private func event(_ history: StatusHistory, _ readings: [StatusReading]) -> ByteBuffer {
        let json = StatusReport(sources, history).event(readings)
        var buffer = ByteBuffer()
        buffer.reserveCapacity(json.count + 64)
        let id = history.newest.time.millisecondsSince1970
        buffer.writeString("id: \(id)\nretry: \(Limits.retryMilliseconds)\ndata: ")
        buffer.writeBytes(json)
        buffer.writeString("\n\n")
        return buffer
    }
}

/// Takes periodic readings, and disconnects the viewers before the admin plane waits for them.
package struct StatusService: Service {
    let board: StatusBoard

    package init(board: StatusBoard) {
        self.board = board
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: StatusHistory.Limits.tick)) != nil { board.tick() }
        }
        board.end()
    }
}

// The status page on the admin plane: `/` for people, `/status.json` for programs, `/status.events` for the page.
extension StatusBoard {
    /// The three routes. None requires a key, and none shows data that a key protects.
    package var routes: [Route] {
        [
            Route(.get, "/", authentication: .none, on: .thread) { _ in
                Reply(fields: StatusPage.headers, body: ReplyBody(Array(self.page.html.utf8)))
            },
            Route(.get, "/status.json", authentication: .none, on: .thread) { _ in
                Reply(json: self.json, fields: .ofUnstoredJSON)
            },
            Route(.get, "/status.events", authentication: .none, on: .thread, reply: events),
        ]
    }

    @Sendable private func events(_ context: RequestContext) throws -> Reply {
        guard let stream = admit(after: context.header.lastEvent) else { throw Problem.tooManyViewers }
        return Reply(fields: [.contentType: "text/event-stream", .cacheControl: "no-store"], stream: stream)
    }
}

extension RequestHeader {
    /// The viewer's last event; nil if it is not one of this gateway's.
    fileprivate var lastEvent: Timestamp? {
        let values = values(of: "Last-Event-ID")
        return values.count == 1 ? Int64(values[0]).map { Timestamp(millisecondsSince1970: $0) } : nil
    }
}

extension Problem {
    /// Also used when the node stops.
    fileprivate static let tooManyViewers = Problem(
        .serviceUnavailable, .overloaded,
        "The status page already has \(StatusBoard.Limits.viewers) viewers, or this node is stopping. Retry later.",
        headerFields: [.retryAfter: "10"])
}
