// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The file of authorities to trust.
enum CABundle {
    /// Looks at the file before the first request needs it, so that a typing error is found at the start.
    static func check(_ file: String?) throws(TransportError) {
        if let file, unsafe access(file, R_OK) != 0 { throw .trustStore }
    }
}
