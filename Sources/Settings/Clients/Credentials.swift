// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a header says of who sends it: the fields in which API keys come. Of several with one name the values are a list
/// (RFC 9110 §5.3), which is no key.
package struct Credentials: Sendable {
    /// `Authorization`
    private(set) var authorization: String?
    /// `X-API-Key`
    private(set) var apiKey: String?

    /// Creates the credentials that a request carries.
    package init(authorization: String? = nil, apiKey: String? = nil) {
        self.authorization = authorization
        self.apiKey = apiKey
    }

    package mutating func add(authorization value: String) {
        authorization = authorization.map { "\($0), \(value)" } ?? value
    }

    package mutating func add(apiKey value: String) {
        apiKey = apiKey.map { "\($0), \(value)" } ?? value
    }
}
