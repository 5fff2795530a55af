// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signatures that do not have the form of their version.
extension TransactionReceiptForge {
    static let signatureBlobs: [TransactionReceiptFault] = [
        .rejected("signature-not-base64", .transactionReceiptSignatureMalformed)
            .members { $0.edit("signature") { $0 = "*" + $0.dropFirst() } }
            .because("A character outside the alphabet."),
        .rejected("signature-empty", .transactionReceiptSignatureMalformed)
            .members { $0.replace("signature", with: "") }
            .because("No signature at all."),
        .rejected("purchase-info-not-base64", .purchaseInfoMalformed)
            .members { $0.edit("purchase-info") { $0 = "-" + $0.dropFirst() } }
            .because("The alphabet of base64url."),
        .rejected("purchase-info-with-unused-bits", .purchaseInfoMalformed)
            .members { $0.replace("purchase-info", with: "QUJDRB==") }
            .because("Unused bits that are not zero: two texts would mean the same bytes."),
        .rejected("version-1", .transactionReceiptVersionUnsupported).afterSigning { $0.version = 1 }
            .because("No rule is known for version 1."),
        .rejected("version-5", .transactionReceiptVersionUnsupported).afterSigning { $0.version = 5 }
            .because("A future version has rules of its own."),
        .rejected("version-2", .keyTooSmall).receipt { $0.pki.receipt($0.contents, version: 2) }
            .because("RSA-1024 is within reach of a state: rejected unless asked for."),
        .rejected("version-4-as-2", .transactionReceiptSignatureMalformed).acceptingVersion2
            .afterSigning { $0.version = 2 }
            .because("The version is signed, and says how long the signature is."),
        .rejected("version-2-as-3", .transactionReceiptSignatureMalformed).acceptingVersion2
            .afterSigning(version: 2) { $0.version = 3 }
            .because("A signature of 128 bytes where 256 are due."),
        .rejected("signature-cut-short", .transactionReceiptSignatureMalformed)
            .afterSigning { receipt in
                receipt.signature.removeLast(56)
                receipt.certificate = []
            }
            .because("The signature ends inside the RSA signature."),
        .rejected("certificate-cut-short", .transactionReceiptSignatureMalformed)
            .afterSigning { receipt in
                receipt.declaredLength = UInt32(receipt.certificate.count)
                receipt.certificate.removeLast()
            }
            .because("Fewer bytes than the certificate's length says."),
        .rejected("certificate-length-huge", .transactionReceiptSignatureMalformed)
            .afterSigning { $0.declaredLength = .max }
            .because("A length of 4 GiB less one byte."),
        .rejected("certificate-empty", .transactionReceiptSignatureMalformed).afterSigning { $0.certificate = [] }
            .because("A length of zero, and no certificate."),
        .rejected("bytes-after-certificate", .transactionReceiptSignatureMalformed)
            .afterSigning { $0.trailingBytes = [0] }
            .because("Bytes after the certificate give one receipt endless variants."),
        .rejected("bytes-in-certificate", .certificateMalformed).afterSigning { $0.certificate.append(0) }
            .because("Bytes after the certificate's DER, within its length."),
    ]
}

/// Property lists that are not exactly one dictionary of quoted texts, or lack what is required.
extension TransactionReceiptForge {
    static let propertyLists: [TransactionReceiptFault] = [
        .rejected("empty-dictionary", .transactionReceiptMalformed).bytes { _ in Array("{}".utf8) }
            .because("A property list without a signature."),
        .rejected("json-instead", .transactionReceiptMalformed)
            .bytes { Array($0.wellFormedText.replacing(" = ", with: " : ").replacing(";\n", with: ",\n").utf8) }
            .because("The same members as JSON."),
        .rejected("app-receipt-instead", .transactionReceiptMalformed).bytes { $0.appReceipt.encoded }
            .because("An app receipt is no property list."),
        .rejected("bytes-after-the-end", .transactionReceiptMalformed).bytes { Array(($0.wellFormedText + "\n;").utf8) }
            .because("Bytes after the closing brace give one receipt endless variants."),
        .rejected("cut-short", .transactionReceiptMalformed).bytes { $0.wellFormed.dropLast() }
            .because("The closing brace is missing."),
        .rejected("unquoted-value", .transactionReceiptMalformed)
            .bytes { Array($0.wellFormedText.replacing("\"100\"", with: "100").utf8) }
            .because("OpenStep allows unquoted words; Apple writes none."),
        .rejected("comment", .transactionReceiptMalformed).bytes { Array(("/* */" + $0.wellFormedText).utf8) }
            .because("OpenStep allows comments; Apple writes none."),
        .rejected("signature-missing", .transactionReceiptMalformed).members { $0.remove("signature") }
            .because("Nothing is signed."),
        .rejected("purchase-info-missing", .transactionReceiptMalformed).members { $0.remove("purchase-info") }
            .because("A signature over nothing."),
        .rejected("purchase-info-twice", .transactionReceiptMalformed).members { $0.append("purchase-info", "e30=") }
            .because("One is verified, and another parser reads the other one."),
        .rejected("environment-twice", .transactionReceiptMalformed).members { $0.append("environment", "Production") }
            .because("Duplicates are rejected where nothing is signed, too."),
        .rejected("environment-not-utf8", .textInvalidUTF8)
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0xFF]) }
            .because("A byte that begins no character."),
        .rejected("environment-with-nul", .textContainsNUL)
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0x53, 0]) }
            .because("C code ends the text there."),
        .rejected("too-many-members", .tooManyAttributes)
            .members { list in for number in 0..<64 { list.append("member-\(number)", "") } }
            .because("More members than any receipt has."),
        .rejected("too-large", .receiptTooLarge).bytes { $0.wellFormed + [UInt8](repeating: 0x20, count: 64 << 10) }
            .because("A genuine receipt, and 64 KiB of white space."),
    ]
}

extension TransactionReceiptForge {
    /// The app receipt of the same signer.
    var appReceipt: SignedDataTemplate {
        pki.container(signing: ReceiptContents.faultSample.payload)
    }
}
