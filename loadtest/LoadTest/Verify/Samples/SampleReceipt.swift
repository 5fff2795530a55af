// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A receipt to verify, and the parts of it that the crypto floor works on.
///
/// A class, so that handing one to a contender costs one reference and no more.
final class SampleReceipt: Sendable {
    /// The receipt.
    let der: [UInt8]
    /// The receipt in base64, as it comes in a request.
    let base64: [UInt8]
    /// The octets that are signed.
    let content: [UInt8]
    /// The signature over them.
    let signature: [UInt8]
    /// The app a verifier must find.
    let bundleID: String
    /// The number of purchases a verifier must find.
    let purchases: Int

    /// Takes a receipt apart with OpenSSL, so that the floor depends on nobody's parser but OpenSSL's; nil if it cannot.
    init?(der: [UInt8], bundleID: String, purchases: Int) {
        guard let message = CMSMessage(der: der), let content = message.content, let signature = message.signature
        else { return nil }
        self.der = der
        base64 = Array(ForgedEvidence.der(der).base64.utf8)
        self.content = content
        self.signature = signature
        self.bundleID = bundleID
        self.purchases = purchases
    }
}
