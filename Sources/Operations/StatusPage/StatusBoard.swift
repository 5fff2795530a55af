// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import NIOCore
internal import Receipts
internal import ServiceLifecycle
internal import Synchronization

/// Keeps the last minutes, and tells everybody who looks at the status page of each beat.
package final class StatusBoard: Sendable {
    /// What viewers may take.
    enum Limits {
        /// Who may look at one time.
        static let viewers = 16
        /// Points in an event beside its own, so that who missed a few beats has no gaps.
        static let repeatedSamples = 5
        /// When a browser that lost the connection tries again, in milliseconds.
        static let retryMilliseconds = 2000
        /// How long a viewer may take nothing of what he is sent.
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

    /// The page as of now.
    var page: StatusPage {
        let history = history
        return StatusPage(
            report: StatusReport(sources, history), readings: history.inOrder,
            configurationText: sources.configurationText)
    }

    /// What programs read.
    var json: [UInt8] {
        let history = history
        return StatusReport(sources, history).json(history)
    }

    private var history: StatusHistory { state.withLock { $0.history } }
}

// MARK: - Beats and viewers

extension StatusBoard {
    /// Takes a reading and tells the viewers, all of them the same octets.
    func beat() {
        let reading = sources.reading
        let (history, viewers) = state.withLock { state in
            state.history.append(reading)
            return (state.history, Array(state.viewers.values))
        }
        guard !viewers.isEmpty else { return }
        let event = event(history, Array(history.inOrder.suffix(Limits.repeatedSamples + 1)))
        for viewer in viewers { viewer.yield(event) }
    }

    /// Admits a viewer: sends all that is known, or all since what the viewer has, and then each beat until the node ends.
    /// A slow viewer misses some. Nil if the viewers are as many as may be, or if the node ends.
    /// - Parameter id: the last event that he has.
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

    /// How many look.
    var viewerCount: Int { state.withLock { $0.viewers.count } }

    /// The node ends: nobody is told anything any more.
    func end() {
        let viewers = state.withLock { state in
            state.isOver = true
            return Array(state.viewers.values)
        }
        for viewer in viewers { viewer.finish() }
    }

    /// An event of a stream (HTML Living Standard, "Server-sent events"); its JSON has no line ends.
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

/// Takes a reading at each beat, and sends the viewers away before the admin plane waits for them.
package struct StatusService: Service {
    let board: StatusBoard

    /// Creates the service that takes readings for the status page.
    package init(board: StatusBoard) {
        self.board = board
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: StatusHistory.Limits.beat)) != nil { board.beat() }
        }
        board.end()
    }
}
