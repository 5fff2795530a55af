// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// Requests and answers carry receipts, shared secrets and tokens. What a log or a failed expectation prints of them is
// said here, and holds no byte of theirs.

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and how much there is.
    public var description: String {
        "\(method.rawValue) with \(headers.count) fields and \(body.count) bytes"
    }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportHeader: CustomStringConvertible, CustomReflectable {
    /// The name, without the value.
    public var description: String { "\(name): ..." }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    /// The protocol, the status, and how much there is.
    public var description: String {
        "\(httpVersion.rawValue) \(status) with \(headers.fields.count) fields and \(body.count) bytes"
    }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
