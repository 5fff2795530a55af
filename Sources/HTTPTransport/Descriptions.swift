// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// Requests and answers carry receipts, shared secrets and tokens. Their descriptions, for logs and failed expectations,
// have no byte of them.

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the sizes.
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
    /// The protocol, the status and the sizes.
    public var description: String {
        "\(httpVersion.rawValue) \(status) with \(headers.fields.count) fields and \(body.count) bytes"
    }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
