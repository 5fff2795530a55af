// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore

/// The `Content-Type` of requests (RFC 9110 §8.3).
package enum RequestMediaType {
    /// Returns true for JSON in UTF-8: `application/json`, parameters allowed, `charset` only as `utf-8`.
    package static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType, contentType != "application/json" else { return contentType != nil }
        // Types, names and charsets ignore case.
        let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false)
            .map { String($0).trimmingWhiteSpace }
        guard parts[0] == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { parameter in
            !parameter.hasPrefix("charset=") || ["charset=utf-8", "charset=\"utf-8\""].contains(parameter)
        }
    }
}
