// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The file of trusted authorities.
enum CABundle {
    /// Checks at start that the file is readable, so that a typing error is found before the first request.
    static func check(_ file: String?) throws(TransportError) {
        if let file, unsafe access(file, R_OK) != 0 { throw .trustStore }
    }
}
