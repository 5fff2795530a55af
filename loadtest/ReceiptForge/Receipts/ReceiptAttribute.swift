// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
public struct ReceiptAttribute: Sendable, Hashable {
    /// What the value means.
    public var type: AttributeType
    /// 1 everywhere but in attribute 4 of Apple's receipts, where it is 2.
    public var version: Int64 = 1
    /// The octets inside the OCTET STRING: another element, or raw octets in attributes 4 to 7.
    public var value: [UInt8]
    /// Further elements inside the SEQUENCE: there should be none.
    var trailing: [DERElement] = []

    /// An attribute whose value is taken as it is.
    public init(_ type: AttributeType, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }

    var element: DERElement {
        .sequence(of: [.integer(type.rawValue), .integer(version), .octetString(value)] + trailing)
    }
}

extension ReceiptAttribute {
    init(_ type: AttributeType, _ element: DERElement) {
        self.init(type, value: element.encoded)
    }

    static func text(_ type: AttributeType, _ text: String) -> Self { Self(type, .utf8String(text)) }
    static func integer(_ type: AttributeType, _ value: Int64) -> Self { Self(type, .integer(value)) }
    static func flag(_ type: AttributeType, _ value: Bool) -> Self { Self(type, .integer(value ? 1 : 0)) }

    /// Apple writes an absent date as an empty string, `16 00`.
    static func date(_ type: AttributeType, _ date: UTCDate?) -> Self {
        Self(type, .ia5String(date?.rfc3339 ?? ""))
    }
}
