// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

/// A local port without a listener, reserved by binding it.
final class ReservedPort {
    let port: Int
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        let status = unsafe address.withSockAddr { pointer, size in
            unsafe bind(descriptor, pointer, socklen_t(size))
        }
        // `sockaddr_in`: family, then the port in network order.
        var bound = [UInt8](repeating: 0, count: 16)
        var size = socklen_t(bound.count)
        let found = unsafe bound.withUnsafeMutableBytes { bytes in
            unsafe getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        guard status == 0, found == 0 else { throw IOError(errnoCode: errno, reason: "no port to reserve") }
        self.descriptor = descriptor
        port = Int(bound[2]) << 8 | Int(bound[3])
    }

    deinit {
        close(descriptor)
    }
}
