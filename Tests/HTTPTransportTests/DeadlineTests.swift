// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTransport
import Testing

/// How long a request may take. What is not under test here would take an hour: a request that ends has met its deadline.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    @Test func `a server that never answers is given up at the deadline`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            request.requestLine.contains("/once") ? [.answer()] : [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                // Now there is a connection, and the time below is spent waiting for the answer.
                _ = try await transport.send(TransportRequest(.get, url: server.url("/once")))
                let start = ContinuousClock.now
                await #expect(throws: TransportError.timeout(.answering)) {
                    try await transport.send(
                        TransportRequest(.get, url: server.url()), deadline: start + .milliseconds(300))
                }
                #expect(ContinuousClock.now - start >= .milliseconds(300))
                await server.saw(.closed)
            }
        }
    }

    @Test func `the configured time holds when the deadline is later`() async throws {
        try await ScriptedServer.with { _ in
            [.hold]
        } _: { server in
            try await HTTPTransport.with {
                $0.totalTimeout = .milliseconds(300)
            } _: { transport in
                let start = ContinuousClock.now
                // How far the request comes in that time is the machine's business.
                await #expect {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                } throws: { error in
                    [.timeout(.connecting), .timeout(.answering)].contains(error as? TransportError)
                }
                #expect(ContinuousClock.now - start >= .milliseconds(300))
            }
        }
    }

    @Test func `a deadline that has passed costs no connection`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                await #expect(throws: TransportError.timeout(.connecting)) {
                    try await transport.send(TransportRequest(.get, url: server.url()), deadline: .now)
                }
            }
            #expect(server.count(of: .accepted) == 0)
        }
    }

    /// Of several requests to a host without a connection, one makes it and the others wait whether it can be shared;
    /// libcurl 7.88 does not look at the clock for these.
    @Test func `requests that wait for a connection are given up too`() async throws {
        // A client's first TLS message is no request to a server without TLS: it goes on waiting for one.
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with { transport in
                let url = "https://localhost:\(server.port)/"
                let start = ContinuousClock.now
                await withTaskGroup { group in
                    for _ in 0..<5 {
                        group.addTask {
                            await #expect(throws: TransportError.timeout(.connecting)) {
                                try await transport.send(
                                    TransportRequest(.get, url: url), deadline: start + .milliseconds(300))
                            }
                        }
                    }
                }
                #expect(ContinuousClock.now - start >= .milliseconds(300))
            }
        }
    }

    @Test func `connecting has a time of its own`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await HTTPTransport.with {
                $0.connectTimeout = .milliseconds(200)
            } _: { transport in
                await #expect(throws: TransportError.timeout(.connecting)) {
                    try await transport.send(TransportRequest(.get, url: "https://localhost:\(server.port)/"))
                }
            }
        }
    }

    /// libcurl averages over the last seconds, so an answer that began takes longer to be given up than one that did not.
    @Test func `a request on which nothing moves is given up`() async throws {
        try await ScriptedServer.with { _ in
            [.hold]
        } _: { server in
            try await HTTPTransport.with {
                $0.lowSpeedTime = .seconds(1)
            } _: { transport in
                await #expect(throws: TransportError.timeout(.stalled)) {
                    try await transport.send(TransportRequest(.get, url: server.url()))
                }
            }
        }
    }
}
