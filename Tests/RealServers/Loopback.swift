// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Ports of this machine.
public enum Loopback {
    /// Returns a TCP port on 127.0.0.1 without a listener. It is below the ports of outgoing connections, so that a
    /// restarted server finds it free, and above those of the checks of the documentation.
    public static func freePort() throws -> Int {
        for _ in 0..<1000 {
            let port = Int.random(in: 22_000..<32_000)
            if isFree(port) { return port }
        }
        throw RealServer.Fault.noPort
    }

    private static func isFree(_ port: Int) -> Bool { unsafe succeeds(bind, at: port) }

    /// Returns true if a process accepts connections at a port of 127.0.0.1.
    public static func accepts(_ port: Int) -> Bool { unsafe succeeds(connect, at: port) }

    private static func succeeds(
        _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, at port: Int
    ) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = Self.address(port: port)
        // SAFETY: the call reads one `sockaddr_in`, whose size it is told.
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe call(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
