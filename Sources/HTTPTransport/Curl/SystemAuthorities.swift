// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl

extension HTTPTransport {
    /// The file with the authorities to trust where no other is configured, as libcurl was built; nil if it has none.
    public static var systemCAFile: String? {
        // SAFETY: the text is libcurl's, which keeps it for as long as the process lives.
        unsafe CCurl_default_authorities().map { unsafe String(cString: $0) }
    }
}
