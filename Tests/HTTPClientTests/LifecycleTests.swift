// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import Testing
import TestSupport

/// Cancellation, shutdown, and the release of all resources.
struct LifecycleTests {
    @Test func `cancelling a task ends its transfer`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                let task = Task { try await transport.send(TransportRequest(.get, url: server.url())) }
                await server.saw(.request)
                task.cancel()
                await #expect(throws: TransportError.cancelled) { try await task.value }
                await server.saw(.closed)
            }
        }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                let (cancelled, isCancelled) = AsyncStream<Void>.makeStream()
                let task = Task {
                    for await _ in cancelled {}
                    return try await transport.send(TransportRequest(.get, url: server.url()))
                }
                task.cancel()
                isCancelled.finish()
                await #expect(throws: TransportError.cancelled) { try await task.value }
            }
        }
    }

    @Test func `cancelling one request does not disturb another`() async throws {
        let gate = Gate()
        try await ScriptedServer.with(tls: Authorities.localhost) { _ in
            [.wait(gate), .answer(200, "mine")]
        } _: {
            server in
            try await HTTPTransport.with { transport in
                async let kept = transport.send(TransportRequest(.get, url: server.url()))
                let dropped = Task { try await transport.send(TransportRequest(.get, url: server.url())) }
                await server.saw(.request, times: 2)
                dropped.cancel()
                await #expect(throws: TransportError.cancelled) { try await dropped.value }
                await server.saw(.closed)
                gate.open()
                let body = try await kept.body
                #expect(body == Array("mine".utf8))
            }
        }
    }

    @Test(.timeLimit(.patient))
    func `requests to a host that hangs hold up no other host's, if none waits to share a connection`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost, deafConnections: 100) { _ in
            [.answer()]
        } _: { deaf in
            try await ScriptedServer.with(tls: Authorities.localhost) { _ in
                [.answer()]
            } _: { sound in
                try await HTTPTransport.with {
                    $0.sharesNewConnections = false
                } _: { transport in
                    let end = ContinuousClock.now + Patience.forOperation
                    let hanging = (0..<8).map { _ in
                        Task { try await transport.send(TransportRequest(.get, url: deaf.url()), deadline: end) }
                    }
                    try await eventually("all hang") { transport.requestsInFlight >= hanging.count }
                    async let first = transport.send(TransportRequest(.get, url: sound.url()), deadline: end).status
                    async let second = transport.send(TransportRequest(.get, url: sound.url()), deadline: end).status
                    let statuses = try await [first, second]
                    #expect(statuses == [200, 200])
                    for task in hanging { task.cancel() }
                }
            }
        }
    }

    @Test func `after cancelling the request that connects, another one connects`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost, deafConnections: 1) { _ in
            [.answer()]
        } _: { server in
            try await ScriptedServer.with { _ in
                [.answer()]
            } _: { barrier in
                try await HTTPTransport.with { transport in
                    let first = Task { try await transport.send(TransportRequest(.get, url: server.url())) }
                    await server.saw(.accepted)
                    async let second = transport.send(TransportRequest(.get, url: server.url()))
                    // The interval of a poll: the transport announces no request.
                    try await eventually("both are in flight") { transport.requestsInFlight >= 2 }
                    // When this one is answered, the loop has the second.
                    _ = try await transport.send(TransportRequest(.get, url: barrier.url()))
                    #expect(server.count(of: .accepted) == 1)
                    first.cancel()
                    let status = try await second.status
                    #expect(status == 200)
                }
            }
        }
    }

    @Test func `a shutdown waits for requests in flight and rejects later ones`() async throws {
        let gate = Gate()
        try await ScriptedServer.with { request in
            request.requestLine.contains("/slow") ? [.wait(gate), .answer(200, "late")] : [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                async let slow = transport.send(TransportRequest(.get, url: server.url("/slow")))
                await server.saw(.request)
                async let down: Void = transport.shutdown()
                // The shutdown begins in another task: until then, requests are answered.
                var refusal: TransportError?
                while refusal == nil {
                    do throws(TransportError) {
                        _ = try await transport.send(TransportRequest(.get, url: server.url()))
                    } catch {
                        refusal = error
                    }
                }
                #expect(refusal == .shuttingDown)
                gate.open()
                let body = try await slow.body
                #expect(body == Array("late".utf8))
                await down
                #expect(transport.requestsInFlight == 0)
            }
        }
    }

    @Test func `a shutdown ends at the deadlines of requests in flight`() async throws {
        try await ScriptedServer.with { _ in
            [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                let request = TransportRequest(.get, url: server.url())
                let task = Task { try await transport.send(request, deadline: .now + Patience.forLimit * 3) }
                await server.saw(.request)
                await transport.shutdown()
                await #expect(throws: TransportError.timeout(.answering)) { try await task.value }
            }
        }
    }

    @Test func `a transport can be shut down twice`() async throws {
        try await HTTPTransport.with { transport in
            async let first: Void = transport.shutdown()
            async let second: Void = transport.shutdown()
            _ = await (first, second)
            await #expect(throws: TransportError.shuttingDown) {
                try await transport.send(TransportRequest(.get, url: "https://localhost/"))
            }
        }
    }

    @Test func `a thousand requests leave no handle behind`() async throws {
        try await ScriptedServer.with { request in
            request.requestLine.contains("/bad") ? [.close] : [.answer(200, "x")]
        } _: { server in
            try await HTTPTransport.with { transport in
                for number in 0..<1000 {
                    let path = number.isMultiple(of: 10) ? "/bad" : "/good"
                    _ = try? await transport.send(TransportRequest(.get, url: server.url(path)))
                }
                await transport.shutdown()
                #expect(transport.requestsInFlight == 0)
                #expect(server.count(of: .request) >= 1000)
            }
        }
    }

    @Test func `concurrent requests and cancellations all end`() async throws {
        try await ScriptedServer.with { _ in
            [.answer(200, "x")]
        } _: { server in
            try await HTTPTransport.with { transport in
                let ends = await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<400 {
                        group.addTask { await Self.ends(number, transport, server) }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(ends == 400)
                await transport.shutdown()
                #expect(transport.requestsInFlight == 0)
            }
        }
    }

    /// Every third request is cancelled as soon as it can be.
    private static func ends(_ number: Int, _ transport: HTTPTransport, _ server: ScriptedServer) async -> Bool {
        let task = Task { try await transport.send(TransportRequest(.get, url: server.url())).status }
        if number.isMultiple(of: 3) { task.cancel() }
        switch await task.result {
        case .success(let status): return status == 200
        case .failure(let error): return error as? TransportError == .cancelled && number.isMultiple(of: 3)
        }
    }
}
