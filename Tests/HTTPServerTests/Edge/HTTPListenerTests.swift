// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

@testable import HTTPServer
@testable import ServerTestSupport

@Suite("The ports", .timeLimit(.patient))
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
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let listening = try #require(names.compactMap { Int32($0) }.first { isListening($0, on: port) })
        try #require(shutdown(listening, Int32(SHUT_RDWR)) == 0)
    }

    private static func isListening(_ descriptor: Int32, on port: Int) -> Bool {
        // The family in two bytes of this machine's order, and the port in two of the network's.
        var address: [UInt8] = Array(repeating: 0, count: 128)
        var length = socklen_t(address.count)
        let status = unsafe address.withUnsafeMutableBytes { bytes in
            unsafe getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard status == 0, Int(address[2]) << 8 + Int(address[3]) == port else { return false }
        var accepts: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 && accepts == 1
    }
}
