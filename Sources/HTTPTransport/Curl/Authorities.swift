// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension HTTPTransport {
    /// The default file of trusted authorities that libcurl was built with; nil if it has none.
    public static var systemCAFile: String? {
        // SAFETY: libcurl keeps the text for the life of the process.
        unsafe CCurl_default_authorities().map { unsafe String(cString: $0) }
    }

    /// Checks at start that the file of authorities is readable, so that a typing error is found before the first
    /// request.
    static func check(caFile: String?) throws(TransportError) {
        if let caFile, unsafe access(caFile, R_OK) != 0 { throw .trustStore }
    }
}
