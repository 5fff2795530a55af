// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl

extension HTTPTransport {
    /// The default file of trusted authorities that libcurl was built with; nil if it has none.
    public static var systemCAFile: String? {
        // SAFETY: libcurl keeps the text for the life of the process.
        unsafe CCurl_default_authorities().map { unsafe String(cString: $0) }
    }
}
