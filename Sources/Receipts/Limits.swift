// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The limits for one receipt. Each is checked before the work it bounds.
///
/// Genuine receipts measure 4.7 to 79 KB; one of 5,004,203 bytes is on record. The defaults leave room above both.
public struct Limits: Hashable, Sendable {
    /// Bytes of one receipt, after base64.
    public var maximumReceiptBytes = 9 << 20
    /// Certificates in one container; genuine receipts have three.
    public var maximumCertificates = 6
    /// Attributes in one set beyond the 64 types Apple uses, purchases not counted; genuine receipts have none.
    public var maximumOtherAttributes = 512
    /// In-app purchases in one receipt.
    public var maximumPurchases = 20_000
    /// Nesting of the Xcode BER form; DER is read without recursion and needs no such limit.
    public var maximumDepth = 16

    /// Creates the default limits.
    public init() {}
}
