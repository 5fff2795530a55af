// SPDX-License-Identifier: Apache-2.0

import LoopbackPorts
import NIOCore
import NIOPosix
import Testing
import TestSupport

struct ReservedPortTests {
    @Test func `a reserved port is refused to clients, and to servers that do not share addresses`() async throws {
        let reserved = try ReservedPort()
        #expect(!LoopbackPort.accepts(reserved.number))
        await #expect(throws: IOError.self) {
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: reserved.number).get()
        }
    }

    @Test func `a server can listen at a reserved port, again and again`() async throws {
        let reserved = try ReservedPort()
        for _ in 1...3 {
            let server = try await listen(at: reserved)
            #expect(LoopbackPort.accepts(reserved.number))
            // A second owner finds it taken while a server listens.
            #expect(throws: UnavailablePort.self) { try ReservedPort(reserved.number) }
            try await server.close()
            // A program that another test starts has a copy of the socket until it runs.
            try await eventually { !LoopbackPort.accepts(reserved.number) }
        }
    }

    @Test func `the system gives a reserved port to no other socket`() throws {
        let reserved = try (0..<500).map { _ in try ReservedPort() }
        #expect(Set(reserved.map(\.number)).count == 500)
    }

    private func listen(at reserved: ReservedPort) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: reserved.number).get()
    }
}
