// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Why no connection came about, in a few words for logs: SwiftNIO's own name its types and repeat the address.
func connectWords(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
        // An address that was tried tells more than one that was not found.
        if let failure = error.connectionErrors.first { return connectWords(failure.error) }
        return "the name \(error.host) has no address"
    case let error as IOError: return connectWords(errno: error.errnoCode)
    case ChannelError.connectTimeout: return "no connection in time"
    default: return "\(error)"
    }
}

private func connectWords(errno code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "connection refused"
    case ETIMEDOUT: "no connection in time"
    case EHOSTUNREACH, ENETUNREACH: "no route"
    case ENOENT: "no such socket"
    case EACCES, EPERM: "this user may not connect"
    default: "errno \(code)"
    }
}
