// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Correct fields and certificates, and a signature that is not by this signer over this content.
extension TransactionReceiptForge {
    static let signatures: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "signature-bit-flipped", .rejected(.signatureInvalid), "One bit of the signature is wrong.",
            .afterSigning { $0.signature[128] ^= 1 }),
        TransactionReceiptFault(
            "version-3-as-4", .rejected(.signatureInvalid), "The version is signed.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents, version: 3)
                receipt.version = 4
                return receipt
            }),
        TransactionReceiptFault(
            "version-4-as-3", .rejected(.signatureInvalid), "A SHA-256 signature in the version of SHA-1.",
            .afterSigning { $0.version = 3 }),
        TransactionReceiptFault(
            "version-not-signed", .rejected(.signatureInvalid),
            "The signature covers the purchase information without the version.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents)
                receipt.signature = forge.signature(over: receipt.purchaseInfo)
                return receipt
            }),
        TransactionReceiptFault(
            "version-2-bit-flipped", .rejected(.signatureInvalid), acceptsVersion2: true,
            "One bit of the signature is wrong, in version 2.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents, version: 2)
                receipt.signature[64] ^= 1
                return receipt
            }),
        TransactionReceiptFault(
            "signature-of-another-receipt", .rejected(.signatureInvalid), "A genuine signature over another purchase.",
            .afterSigning { $0.purchaseInfo = Self.other.purchaseInfo.encoded }),
        TransactionReceiptFault(
            "expiry-moved", .rejected(.signatureInvalid), "The cheapest attack of all: edit the expiry in place.",
            .afterSigning { receipt in
                var contents = TransactionReceiptContents.faultSample
                contents.expiresDate = UTCDate(2099, 1, 1)
                receipt.purchaseInfo = contents.purchaseInfo.encoded
            }),
        TransactionReceiptFault(
            "purchase-info-bit-flipped", .rejected(.signatureInvalid),
            "One bit is wrong; every field still reads well.", .afterSigning { $0.purchaseInfo[40] ^= 1 }),
        TransactionReceiptFault(
            "signature-of-app-receipt", .rejected(.signatureInvalid),
            "The same key signs app receipts: their signature covers other bytes.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents)
                receipt.signature = forge.appReceipt.signerInfos[0].signature
                return receipt
            }),
        TransactionReceiptFault(
            "signed-by-stranger", .rejected(.signatureInvalid),
            "The genuine certificate beside the signature of another key.",
            .receipt { forge in
                var receipt = forge.signed(by: .attackerLeaf)
                receipt.certificate = forge.pki.receipts.leaf.der
                return receipt
            }),
    ]

    private static var other: TransactionReceiptContents {
        var contents = TransactionReceiptContents.faultSample
        contents.bundleID = "com.example.victim"
        return contents
    }
}

extension TransactionReceiptForge {
    fileprivate func signature(over message: [UInt8]) -> [UInt8] {
        pki.keys.key(for: .leaf).signature(over: message, digest: .sha256)
    }
}
