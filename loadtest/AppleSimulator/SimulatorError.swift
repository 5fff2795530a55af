// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The reason why a simulator does not start.
public enum SimulatorError: Error, Hashable, Sendable {
    /// The system refuses the port.
    case portUnavailable(Int, reason: String)
    /// The TLS identity is not a certificate with its private key, in PEM.
    case identityUnusable
    /// The root of the PKI cannot be trusted.
    case rootUnusable
}

extension SimulatorError: CustomStringConvertible {
    /// One sentence that says how to fix it.
    public var description: String {
        switch self {
        case .portUnavailable(let port, let reason): "Cannot listen on port \(port) of 127.0.0.1: \(reason)"
        case .identityUnusable: "The server's certificate and private key are not a matching pair in PEM."
        case .rootUnusable: "The root of the PKI is not a usable certificate."
        }
    }
}
