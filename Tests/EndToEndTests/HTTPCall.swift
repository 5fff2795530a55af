// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing
import TestSupport

/// One request to a server on this machine, over a connection of its own. A thousand at once are no trouble.
struct HTTPCall {
    var method = "GET"
    let port: Int
    /// The path and query, sent as they are.
    let path: String
    var fields: [String: String] = [:]
    var body: Data?

    func answer() async throws -> HTTPAnswer {
        let loop = MultiThreadedEventLoopGroup.singleton.next(), answer = loop.makePromise(of: HTTPAnswer.self)
        let channel = try await ClientBootstrap(group: loop).connectTimeout(TimeAmount(Patience.forEvent))
            .channelInitializer { [parts] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandlers([
                        NIOHTTPClientResponseAggregator(maxContentLength: 256 << 20), HTTPCallHandler(parts, answer),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).flatMapErrorThrowing { error in
                answer.fail(error)
                throw error
            }.get()
        return try await withTaskCancellationHandler {
            try await answer.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    private var parts: [HTTPClientRequestPart] {
        var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: path)
        head.headers = HTTPHeaders([("Host", "127.0.0.1:\(port)")] + fields.map { ($0.key, $0.value) })
        guard let body else { return [.head(head), .end(nil)] }
        head.headers.add(name: "Content-Length", value: "\(body.count)")
        return [.head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil)]
    }
}

extension HTTPCall {
    init(_ method: String, url: String, body: Data? = nil, bearer token: String? = nil) throws {
        let components = try #require(URLComponents(string: url))
        (self.method, self.body, port) = (method, body, try #require(components.port))
        path = components.percentEncodedPath + (components.percentEncodedQuery.map { "?" + $0 } ?? "")
        if body != nil { fields["Content-Type"] = "application/json" }
        if let token { fields["Authorization"] = "Bearer \(token)" }
    }
}

/// Sends a request as soon as the connection is open, on its event loop: tests that compute may hold up all tasks for longer
/// than a server waits for a request.
private final class HTTPCallHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull
    typealias OutboundOut = HTTPClientRequestPart

    private let parts: [HTTPClientRequestPart]
    private let answer: EventLoopPromise<HTTPAnswer>

    init(_ parts: [HTTPClientRequestPart], _ answer: EventLoopPromise<HTTPAnswer>) {
        (self.parts, self.answer) = (parts, answer)
    }

    func channelActive(context: ChannelHandlerContext) {
        for part in parts { context.write(wrapOutboundOut(part), promise: nil) }
        context.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        answer.succeed(HTTPAnswer(unwrapInboundIn(data)))
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }
}

extension Data {
    /// The JSON of an object; equal objects have equal bytes.
    init(json object: [String: Any]) throws {
        self = try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
    }
}

struct HTTPAnswer: Sendable {
    let status: Int
    /// The fields by lower-case name.
    let headers: [String: String]
    let body: Data

    var contentType: String { headers["content-type"] ?? "" }

    var json: [String: Any] {
        get throws { try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any]) }
    }
}

extension HTTPAnswer {
    fileprivate init(_ answer: NIOHTTPClientResponseFull) {
        status = Int(answer.head.status.code)
        headers = Dictionary(answer.head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
        body = answer.body.map { Data($0.readableBytesView) } ?? Data()
    }
}
