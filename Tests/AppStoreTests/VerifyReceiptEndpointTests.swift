// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import HTTPClient
import NIOHTTP1
import Receipts
import Testing

/// With the production transport and a local server.
struct VerifyReceiptEndpointTests {
    private static let question = VerifyReceiptRequest(receipt: [1, 2, 3], sharedSecret: Secret("hush"))

    @Test func `a request reaches the server, and its answer is returned`() async throws {
        let headers: HTTPHeaders = ["x-apple-jingle-correlation-key": "ABC", "Sunset": "Sat, 31 Dec 2033 23:59:59 GMT"]
        try await LocalServer.run(headers: headers, body: #"{"status":21004}"#) { server in
            let reply = try await Self.ask(server.url)
            #expect(reply.response.status == .wrongSharedSecret && reply.head.correlationKey == "ABC")
            #expect(reply.head.announcements.sunset?.description == "2033-12-31T23:59:59Z")
            #expect(reply.head.took > .zero)
            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1 && request.body == Self.question.body)
            #expect(request.head.method == .POST && request.head.uri == "/verifyReceipt")
            #expect(request.head.headers["Content-Type"] == ["application/json"])
        }
    }

    @Test func `a wait that a server requests is computed with the given clock`() async throws {
        let headers: HTTPHeaders = ["Retry-After": "1700000002500"]
        try await LocalServer.run(status: .tooManyRequests, headers: headers, body: "") { server in
            let failure = await #expect(throws: VerifyReceiptFailure.self) { try await Self.ask(server.url) }
            let head = try #require(failure?.head)
            #expect(failure == .throttled(head) && head.retryAfter == .milliseconds(2500))
        }
    }

    @Test func `a missing server is a failure of the transport`() async throws {
        // A port below 1024 that no server has.
        let failure = await #expect(throws: VerifyReceiptFailure.self) { try await Self.ask("http://127.0.0.1:1") }
        #expect(failure == .transport(.connect) && failure?.head == nil)
    }

    private static func ask(_ url: String) async throws -> VerifyReceiptReply {
        var configuration = TransportConfiguration()
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        (configuration.connectTimeout, configuration.totalTimeout) = (.seconds(3600), .seconds(3600))
        let transport = try HTTPTransport(configuration)
        let endpoint = VerifyReceiptEndpoint(url: url + "/verifyReceipt", transport: transport) {
            Timestamp(millisecondsSince1970: 1_700_000_000_000)
        }
        return try await endpoint.send(question, deadline: .now + .seconds(3600))
    }
}
