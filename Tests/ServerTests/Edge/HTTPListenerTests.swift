// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import HTTPServer

@Suite("The ports", .timeLimit(.minutes(5)))
struct HTTPListenerTests {
    @Test func `a closed listening socket stops the node`() async throws {
        await #expect(throws: ListenerClosed.self) {
            try await RunningGateway.with { gateway in
                #expect(try await gateway.send("GET /livez HTTP/1.0\r\n\r\n", port: gateway.adminPort)?.status == 200)
                try Self.shutDownSocket(listeningOn: gateway.port)
                try await eventually {
                    (try? await gateway.send("GET /livez HTTP/1.0\r\n\r\n", port: gateway.adminPort)) == nil
                }
            }
        }
    }

    /// Shuts down the gateway's listening socket in this process, so that accepting fails.
    private static func shutDownSocket(listeningOn port: Int) throws {
        let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
        // proc_pid_net(5): local address, remote address, state (0A: listening) and, as the tenth column, the inode.
        let columns = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
        let suffix = ":" + String(port, radix: 16, uppercase: true)
        let socket = try #require(columns.first { $0[1].hasSuffix(suffix) && $0[3] == "0A" })
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let descriptor = try #require(
            descriptors.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                    == "socket:[\(socket[9])]"
            }.flatMap { Int32($0) })
        try #require(shutdown(descriptor, Int32(SHUT_RDWR)) == 0)
    }
}
