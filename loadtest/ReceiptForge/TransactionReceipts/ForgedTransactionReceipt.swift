// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A transaction receipt that a fault can change after it was signed.
///
/// Its `signature` is the version, the RSA signature, the certificate's length and the certificate; signed are the
/// version and the decoded `purchase-info`.
struct ForgedTransactionReceipt: Sendable {
    var version: UInt8
    var signature: [UInt8]
    var certificate: [UInt8]
    /// Nil for the certificate's own length.
    var declaredLength: UInt32?
    /// Bytes after the certificate.
    var trailingBytes: [UInt8] = []
    var purchaseInfo: [UInt8]
    var unsignedMembers: [ForgedPropertyList.Member]

    init(
        _ contents: TransactionReceiptContents, purchaseInfo: [UInt8]? = nil, version: UInt8, by key: RSAPrivateKey,
        certificate: [UInt8]
    ) {
        self.version = version
        self.certificate = certificate
        self.purchaseInfo = purchaseInfo ?? contents.purchaseInfo.encoded
        unsignedMembers = [
            .init("environment", contents.environment), .init("pod", "100"), .init("signing-status", "0"),
        ]
        signature = key.signature(over: [version] + self.purchaseInfo, digest: version == 4 ? .sha256 : .sha1)
    }

    var signatureBlob: [UInt8] {
        let length = declaredLength ?? UInt32(certificate.count)
        let lengthBytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> UInt32(8 * $0)) }
        return [version] + signature + lengthBytes + certificate + trailingBytes
    }

    var propertyList: ForgedPropertyList {
        ForgedPropertyList(
            [
                .init("signature", Base64Encoder.text(signatureBlob)),
                .init("purchase-info", Base64Encoder.text(purchaseInfo)),
            ] + unsignedMembers)
    }

    var encoded: [UInt8] { propertyList.encoded }
}
