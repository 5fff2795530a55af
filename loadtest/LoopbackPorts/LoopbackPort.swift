// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// TCP ports of 127.0.0.1.
package enum LoopbackPort {
    /// Returns true if a process accepts connections at a port of 127.0.0.1.
    package static func accepts(_ port: Int) -> Bool {
        guard let descriptor = try? socket() else { return false }
        defer { close(descriptor) }
        var address = address(port: port)
        // SAFETY: the call reads one `sockaddr_in`, whose size it is given.
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func socket() throws(UnavailablePort) -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw UnavailablePort(number: 0, errorNumber: errno) }
        return descriptor
    }

    static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
