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

/// Returns a short reason for logs why connecting failed: SwiftNIO's own texts have type names and repeat the address.
func connectFailureReason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
        // An address that was tried is more helpful than one that was not found.
        if let failure = error.connectionErrors.first { return connectFailureReason(failure.error) }
        return "the name \(error.host) has no address"
    case let error as IOError: return connectFailureReason(errno: error.errnoCode)
    case ChannelError.connectTimeout: return "connecting timed out"
    default: return "\(error)"
    }
}

private func connectFailureReason(errno code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "connection refused"
    case ETIMEDOUT: "connecting timed out"
    case EHOSTUNREACH, ENETUNREACH: "no route to the host"
    case ENOENT: "no such socket"
    case EACCES, EPERM: "permission denied"
    default: "errno \(code)"
    }
}
