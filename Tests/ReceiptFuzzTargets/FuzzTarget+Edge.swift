// SPDX-License-Identifier: Apache-2.0

internal import Resilience
#if DEBUG || RECEIPT_FUZZING
    internal import Gateway
    internal import HTTPTypes
    internal import Logging
    internal import NIOCore
    internal import NIOEmbedded
    internal import NIOPosix
    @testable internal import HTTPServer
    @testable internal import Clients
    internal import Synchronization

    extension FuzzTarget {
        /// Checks that a connection finds the same requests in the same bytes, in any pieces and with answers at any
        /// time: the sender's packets must not decide where a request ends.
        static func checkEdge(_ bytes: [UInt8]) throws {
            let whole = try EdgeTrial.run(bytes, pieceBytes: max(bytes.count, 1), answersAtOnce: false)
            try whole.check()
            // In more pieces a body would be too fragmented, and rejected.
            let smallest = bytes.count / EdgeTrial.maximumPieces + 1
            for (pieceBytes, answersAtOnce) in [(smallest, false), (smallest, true), (smallest * 61, true)] {
                let pieces = try EdgeTrial.run(bytes, pieceBytes: pieceBytes, answersAtOnce: answersAtOnce)
                try expect(pieces == whole, "pieces of \(pieceBytes) bytes:\n\(pieces)\nthe whole:\n\(whole)")
            }
        }
    }

    /// The result of one connection's bytes.
    private struct EdgeTrial: Equatable {
        /// The requests that reached a handler, in order.
        var requests: [HandledRequest] = []
        /// The statuses of all answers, without 100.
        var statuses: [Int] = []
        /// The body bytes that are still counted after the end of the connection.
        var reservedBytes = 0

        static let maximumPieces = 512
        static let bodyLimit = 2048

        /// Feeds a connection, answers 200 to each request that reaches a handler, and ends the input.
        static func run(_ bytes: [UInt8], pieceBytes: Int, answersAtOnce: Bool) throws -> EdgeTrial {
            let budget = BodyBudget(.mebibytes(1)), handler = RecordingHandler(answersAtOnce: answersAtOnce)
            var trial = EdgeTrial()
            let edge = edge(budget, handler), channel = try channel(edge)
            var buffer = ByteBuffer(bytes: bytes)
            while channel.isActive, let piece = buffer.readSlice(length: min(pieceBytes, buffer.readableBytes)),
                piece.readableBytes > 0
            {
                // Errors of the parser are answered by the edge.
                _ = try? channel.writeInbound(piece)
                channel.embeddedEventLoop.run()
            }
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            // Each pipelined request has a turn of its own; the shortest one has 16 bytes.
            for _ in 0...bytes.count / 16 { channel.embeddedEventLoop.advanceTime(by: EventLoopScheduler.Limits.pause) }
            while let written = try channel.readOutbound(as: ByteBuffer.self) {
                if let status = status(in: written), status >= 200 { trial.statuses.append(status) }
            }
            _ = try? channel.finish(acceptAlreadyClosed: true)
            trial.requests = handler.requests
            trial.reservedBytes = budget.reserved
            return trial
        }

        private static func edge(_ budget: BodyBudget, _ handler: RecordingHandler) -> Edge {
            // No deadline passes, however slow the machine is.
            let rules = EdgeRules(
                bodyLimit: .bytes(bodyLimit), headersDeadline: .hours(1000), requestDeadline: .hours(1000),
                answerDeadline: .hours(1000), idleDeadline: .hours(1000), shutdownGrace: .hours(1000))
            let pipeline = RequestPipeline(
                routes: handler.routes, log: RequestLog(logger: nil),
                logger: Logger(label: "fuzzing") { _ in SwiftLogNoOpLogHandler() })
            return Edge(rules: rules, budget: budget, lifecycle: ServerLifecycle(), pipeline: pipeline)
        }

        private static func channel(_ edge: Edge) throws -> EmbeddedChannel {
            let limits = HTTPLimits(
                target: .bytes(256), headerField: .bytes(256), headerList: .kibibytes(1), headerFieldCount: 32,
                body: .bytes(bodyLimit))
            let channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandler(EdgeHandler(edge, limits))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            return channel
        }

        /// Returns the status of the answer that begins here.
        private static func status(in written: ByteBuffer) -> Int? {
            let text = String(buffer: written)
            return text.hasPrefix("HTTP/1.") ? Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) : nil
        }

        func check() throws {
            try expect(reservedBytes == 0, "\(reservedBytes) body bytes are never released")
            try expect(
                statuses.count == requests.count || statuses.count == requests.count + 1,
                "\(statuses.count) answers to \(requests.count) requests")
            try expect(statuses.prefix(requests.count).allSatisfy { $0 == 200 }, "answers out of order: \(statuses)")
            try expect(statuses.dropFirst(requests.count).allSatisfy { $0 >= 400 }, "an answer to nothing: \(statuses)")
            for request in requests { try request.check() }
        }
    }

    /// A request as its handler receives it, without its identifier.
    private struct HandledRequest: Equatable {
        let method: String
        let path: String
        let fields: [String]
        let contentLength: String?
        let isChunked: Bool
        let body: [UInt8]

        init(_ header: RequestHeader, _ body: ByteBuffer) {
            method = header.method.rawValue
            path = "\(String(copying: header.path))?\(header.query ?? "")"
            fields = header.lines.map { "\(header.name(of: $0)): \(header.value(of: $0))" }
            contentLength = header.values(of: "Content-Length").first
            isChunked = !header.values(of: "Transfer-Encoding").isEmpty
            self.body = Array(buffer: body)
        }

        func check() throws {
            try expect(body.count <= EdgeTrial.bodyLimit, "a body beyond the limit")
            try expect(!(isChunked && contentLength != nil), "a body of two lengths")
            // RFC 9110 §9.3.6: CONNECT has no content, whatever it announces, and is the last request.
            if let contentLength, method != "CONNECT" {
                try expect(Int(contentLength) == body.count, "\(body.count) body bytes, \(contentLength) announced")
            } else if !isChunked {
                try expect(body.isEmpty, "a body without a length")
            }
        }
    }

    /// The handler of every path: records requests, and answers at once or after one iteration of the event loop.
    private final class RecordingHandler: Sendable {
        private let recorded = Mutex<[HandledRequest]>([])
        private let answersAtOnce: Bool

        init(answersAtOnce: Bool) { self.answersAtOnce = answersAtOnce }

        var requests: [HandledRequest] { recorded.withLock { $0 } }

        /// One route for each method, so that no path and no method is rejected.
        var routes: RouteTable {
            let methods: [HTTPRequest.Method] = [.get, .post, .put, .delete, .options, .patch, .trace]
            return RouteTable(methods.map { Route($0, "*", authentication: .none, handler: answer) })
        }

        @Sendable private func answer(_ context: RequestContext, _ body: ReservedBody) -> Step<Reply, any Error> {
            recorded.withLock { $0.append(HandledRequest(context.header, body.bytes)) }
            let reply = Reply(body: [])
            return answersAtOnce ? .done(reply) : .wait { .done(reply) }
        }
    }
#endif
