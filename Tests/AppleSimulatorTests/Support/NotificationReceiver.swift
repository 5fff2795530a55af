// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import NIOCore
import NIOHTTP1
import ReceiptForge
import Synchronization
import Testing

@testable import AppleSimulator

/// A server of raw bytes on the loopback interface: it keeps each request, and answers in the order of its replies.
final class NotificationReceiver: Sendable {
    /// A request with its body.
    struct Request: Sendable {
        let head: String
        let body: String

        var members: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }

        var signedPayload: String { members["signedPayload"] as? String ?? "" }
        var claims: [String: Any] { APIReply.claims(signedPayload) }
        var uuid: String { claims["notificationUUID"] as? String ?? "" }
    }

    /// The bytes to send before the connection is closed; nil to send nothing, and leave it open.
    typealias Reply = String?

    private let state: Mutex<(replies: [Reply], requests: [Request])>

    /// - Parameter replies: the last one is repeated.
    init(_ replies: [Reply]) {
        state = Mutex((replies, []))
    }

    var requests: [Request] { state.withLock { $0.requests } }

    fileprivate func receive(_ request: Request) -> Reply {
        state.withLock { state in
            state.requests.append(request)
            return state.replies.count > 1 ? state.replies.removeFirst() : state.replies[0]
        }
    }

    static func status(_ code: Int) -> String { "HTTP/1.1 \(code) Status\r\nContent-Length: 0\r\n\r\n" }

    /// Runs a test with a receiver of these replies and its URL, and stops it.
    static func with(
        _ replies: [Reply] = [status(200)], _ body: (NotificationReceiver, String) async throws -> Void
    ) async throws {
        let receiver = NotificationReceiver(replies)
        let connections = Connections(maximumConnections: 256)
        let server = try await LoopbackServer.start(at: ReservedPort(), connections) { channel in
            try channel.pipeline.syncOperations.addHandler(ReceiverHandler(receiver))
        }
        do {
            try await body(receiver, "http://127.0.0.1:\(server.port)/apple/notifications?app=1")
            await server.stop()
        } catch {
            await server.stop()
            throw error
        }
    }
}

private final class ReceiverHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let receiver: NotificationReceiver
    private var received = ""

    init(_ receiver: NotificationReceiver) {
        self.receiver = receiver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += String(buffer: unwrapInboundIn(data))
        guard let end = received.firstRange(of: "\r\n\r\n") else { return }
        let (head, body) = (String(received[..<end.lowerBound]), String(received[end.upperBound...]))
        guard let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap({ Int($0.output.1) }),
            body.utf8.count >= length
        else { return }
        received = ""
        guard let reply = receiver.receive(.init(head: head, body: body)) else { return }
        let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply)))
        written.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension TestStore {
    /// Sends a request that controls the simulator, and returns the answer's status and body.
    @discardableResult
    func control(_ method: HTTPMethod, _ path: String, _ body: String) throws -> (status: Int, body: String) {
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path)
        let response = RequestResponder(store: store, endpoint: .production).respond(
            to: head, ByteBuffer(string: body))
        guard case .control(let answer) = response else { throw NoAnswer() }
        return (Int(answer.status.code), String(buffer: answer.body))
    }

    /// Sets the URL of the usual app's notifications.
    func receiveNotifications(at url: String, _ more: String = "", environment: String = "production") throws {
        let body =
            #"{"bundle_id":"\#(Self.app)","environment":"\#(environment)","url":"\#(url)","time_scale":0\#(more)}"#
        #expect(try control(.PUT, "/notifications", body).status == 204)
    }

    /// Makes notifications about the usual app, waits for their delivery, and returns their UUIDs.
    @discardableResult
    func notify(_ members: String, environment: String = "production") async throws -> [String] {
        let body = #"{"bundle_id":"\#(Self.app)","environment":"\#(environment)",\#(members)}"#
        let answer = try control(.POST, "/notifications", body)
        #expect(answer.status == 200, "\(answer.body)")
        await store.sender.waitUntilIdle()
        let members = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        return try #require(members?["notification_uuids"] as? [String])
    }

    /// Returns the notification history of the day around the start.
    func notificationHistory(
        _ more: String = "", page: String? = nil, at endpoint: Endpoint = .production
    ) throws -> HistoryReply {
        let start = Samples.start.secondsSince1970
        let body = "{\"startDate\":\((start - 86_400) * 1000),\"endDate\":\((start + 86_400) * 1000)\(more)}"
        let query = page.map { "?paginationToken=" + $0 } ?? ""
        return HistoryReply(
            reply: try call("v1/notifications/history" + query, .POST, body, at: endpoint))
    }
}

struct HistoryReply {
    struct Item {
        let members: [String: Any]

        var signedPayload: String { members["signedPayload"] as? String ?? "" }
        var claims: [String: Any] { APIReply.claims(signedPayload) }
        var uuid: String { claims["notificationUUID"] as? String ?? "" }
        var data: SubscriptionClaims { SubscriptionClaims(members: claims["data"] as? [String: Any] ?? [:]) }
        var results: [String] {
            (members["sendAttempts"] as? [[String: Any]] ?? []).compactMap { $0["sendAttemptResult"] as? String }
        }
    }

    let reply: APIReply

    var items: [Item] { (reply.json["notificationHistory"] as? [[String: Any]] ?? []).map(Item.init) }
    var nextPage: String? { reply.json["paginationToken"] as? String }
}
