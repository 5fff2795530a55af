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

/// A TCP port of 127.0.0.1 that the system gives to no other socket as long as this object lives.
///
/// A server that sets `SO_REUSEADDR` can listen at the port, and again after a restart: a socket that is bound and does
/// not listen is no conflict then (socket(7)). Without a server, connections to the port are refused.
package final class ReservedPort: Sendable {
    /// The port.
    package let number: Int
    private let descriptor: Int32

    /// Reserves a port.
    /// - Parameter number: 0 for a port that the system chooses. Another number may be reserved by several owners, as
    ///   long as none listens.
    package init(_ number: Int = 0) throws(UnavailablePort) {
        descriptor = try LoopbackPort.socket()
        guard let bound = Self.bind(descriptor, to: number) else {
            let reason = errno
            close(descriptor)
            throw UnavailablePort(number: number, errorNumber: reason)
        }
        self.number = bound
    }

    deinit { close(descriptor) }

    private static func bind(_ descriptor: Int32, to number: Int) -> Int? {
        var isReusable: Int32 = 1, address = LoopbackPort.address(port: number)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: each call reads or writes one value, whose size it is given.
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe setsockopt(
                    descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<Int32>.size)) == 0
                    && Glibc.bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        return isBound ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
}

/// A port that cannot be reserved.
package struct UnavailablePort: Error, CustomStringConvertible {
    /// The port; 0 for any.
    package let number: Int
    let errorNumber: Int32

    /// The reason in the words of the system.
    package var description: String {
        // SAFETY: the system returns a terminated text for every number.
        unsafe String(cString: strerror(errorNumber))
    }
}
