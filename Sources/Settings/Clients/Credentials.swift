// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The credentials in a request's header. Several values of one field are joined to a list (RFC 9110 §5.3), which is
/// not a valid key.
package struct Credentials: Sendable {
    /// `Authorization`
    private(set) var authorization: String?
    /// `X-API-Key`
    private(set) var apiKey: String?

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
