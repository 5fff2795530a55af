// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Correct fields and certificates, and a signature that is not by this signer over this content.
extension TransactionReceiptForge {
    static let signatures: [TransactionReceiptFault] = [
        .rejected("signature-bit-flipped", .signatureInvalid).afterSigning { $0.signature[128] ^= 1 }
            .because("One bit of the signature is wrong."),
        .rejected("version-3-as-4", .signatureInvalid).afterSigning(version: 3) { $0.version = 4 }
            .because("The version is signed."),
        .rejected("version-4-as-3", .signatureInvalid).afterSigning { $0.version = 3 }
            .because("A SHA-256 signature in the version of SHA-1."),
        .rejected("version-not-signed", .signatureInvalid)
            .afterSigning {
                $0.signature = $1.pki.keys.key(for: .leaf).signature(over: $0.purchaseInfo, digest: .sha256)
            }
            .because("The signature covers the purchase information without the version."),
        .rejected("version-2-bit-flipped", .signatureInvalid).acceptingVersion2
            .afterSigning(version: 2) { $0.signature[64] ^= 1 }
            .because("One bit of the signature is wrong, in version 2."),
        .rejected("signature-of-another-receipt", .signatureInvalid)
            .purchaseInfoAfterSigning { $0.bundleID = "com.example.victim" }
            .because("A genuine signature over another purchase."),
        .rejected("expiry-moved", .signatureInvalid).purchaseInfoAfterSigning { $0.expiresDate = UTCDate(2099, 1, 1) }
            .because("The cheapest attack of all: edit the expiry in place."),
        .rejected("purchase-info-bit-flipped", .signatureInvalid).afterSigning { $0.purchaseInfo[40] ^= 1 }
            .because("One bit is wrong; every field still reads well."),
        .rejected("signature-of-app-receipt", .signatureInvalid)
            .afterSigning { $0.signature = $1.appReceipt.signerInfos[0].signature }
            .because("The same key signs app receipts: their signature covers other bytes."),
        .rejected("signed-by-stranger", .signatureInvalid)
            .receipt { forge in
                forge.edited(forge.signed(by: .attackerLeaf)) { $0.certificate = forge.pki.leaf.der }
            }
            .because("The genuine certificate beside the signature of another key."),
    ]
}

extension TransactionReceiptFault {
    /// The purchase information under the sample's signature.
    fileprivate func purchaseInfoAfterSigning(_ edit: @escaping Edit<TransactionReceiptContents>) -> Self {
        afterSigning { $0.purchaseInfo = $1.edited($1.contents, by: edit).purchaseInfo.encoded }
    }
}
