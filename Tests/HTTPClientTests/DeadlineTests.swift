// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import Testing
import TestSupport

/// The time limits of requests. Limits not under test are an hour: a request that ends has met its deadline.
@Suite(.timeLimit(.patient)) struct DeadlineTests {
    @Test func `a server that never answers fails at the deadline`() async throws {
        try await ScriptedServer.with(tls: Authorities.localhost) { request in
            request.requestLine.contains("/once") ? [.answer()] : [.hold]
        } _: { server in
            try await HTTPTransport.with { transport in
                // The connection exists now: the time below passes while waiting for the answer.
                _ = try await transport.send(TransportRequest(.get, url: server.url("/once")))
                let start = ContinuousClock.now
                let fault = await #expect(throws: TransportError.self) {
                    try await transport.send(
                        TransportRequest(.get, url: server.url()), deadline: start + .milliseconds(300))
                }
                #expect(ContinuousClock.now - start >= .milliseconds(300))
                // The progress of the request in that time depends on the machine.
                #expect(fault == .timeout(.connecting) || fault == .timeout(.answering))
                if fault == .timeout(.answering) { await server.saw(.closed) }
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
                // The progress of the request in that time depends on the machine.
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

    /// With nothing else in flight: other transfers would make libcurl look at this one.
    @Test(.timeLimit(.patient))
    func `after an address that does not answer comes the next one of the host`() async throws {
        try await ScriptedServer.with { _ in
            [.answer()]
        } _: { server in
            try await SilentAddress.with(port: server.port) {
                try await HTTPTransport.with {
                    // Half of the time is for the first address.
                    $0.connectTimeout = Patience.forLimit * 2
                    $0.addresses = ["localhost:\(server.port):\(SilentAddress.host),127.0.0.1"]
                } _: { transport in
                    let status = try await transport.send(TransportRequest(.get, url: server.url())).status
                    #expect(status == 200)
                }
            }
        }
    }

    /// Of several requests to a host without a connection, one connects and the others wait to share it. For these,
    /// libcurl 7.88 does not check the time.
    @Test func `requests that wait for a connection fail at the deadline too`() async throws {
        // A server without TLS does not take the client's first TLS message for a request, and waits for one.
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

    @Test func `connecting has its own time limit`() async throws {
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
}
