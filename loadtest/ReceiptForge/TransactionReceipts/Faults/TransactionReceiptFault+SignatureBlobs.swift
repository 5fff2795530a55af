// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signatures that do not have the form of their version.
extension TransactionReceiptForge {
    static let signatureBlobs: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "signature-not-base64", .rejected(.transactionReceiptSignatureMalformed),
            "A character outside the alphabet.", .members { $0.edit("signature") { $0 = "*" + $0.dropFirst() } }),
        TransactionReceiptFault(
            "signature-empty", .rejected(.transactionReceiptSignatureMalformed), "No signature at all.",
            .members { $0.replace("signature", with: "") }),
        TransactionReceiptFault(
            "purchase-info-not-base64", .rejected(.purchaseInfoMalformed), "The alphabet of base64url.",
            .members { $0.edit("purchase-info") { $0 = "-" + $0.dropFirst() } }),
        TransactionReceiptFault(
            "purchase-info-with-unused-bits", .rejected(.purchaseInfoMalformed),
            "Unused bits that are not zero: two texts would mean the same bytes.",
            .members { $0.replace("purchase-info", with: "QUJDRB==") }),
        TransactionReceiptFault(
            "version-1", .rejected(.transactionReceiptVersionUnsupported), "No rule is known for version 1.",
            .afterSigning { $0.version = 1 }),
        TransactionReceiptFault(
            "version-5", .rejected(.transactionReceiptVersionUnsupported), "A future version has rules of its own.",
            .afterSigning { $0.version = 5 }),
        TransactionReceiptFault(
            "version-2", .rejected(.keyTooSmall), "RSA-1024 is within reach of a state: rejected unless asked for.",
            .receipt { $0.pki.receipt($0.contents, version: 2) }),
        TransactionReceiptFault(
            "version-4-as-2", .rejected(.transactionReceiptSignatureMalformed), acceptsVersion2: true,
            "The version is signed, and says how long the signature is.", .afterSigning { $0.version = 2 }),
        TransactionReceiptFault(
            "version-2-as-3", .rejected(.transactionReceiptSignatureMalformed), acceptsVersion2: true,
            "A signature of 128 bytes where 256 are due.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents, version: 2)
                receipt.version = 3
                return receipt
            }),
        TransactionReceiptFault(
            "signature-cut-short", .rejected(.transactionReceiptSignatureMalformed),
            "The signature ends inside the RSA signature.",
            .afterSigning { receipt in
                receipt.signature.removeLast(56)
                receipt.certificate = []
            }),
        TransactionReceiptFault(
            "certificate-cut-short", .rejected(.transactionReceiptSignatureMalformed),
            "Fewer bytes than the certificate's length says.",
            .afterSigning { receipt in
                receipt.declaredLength = UInt32(receipt.certificate.count)
                receipt.certificate.removeLast()
            }),
        TransactionReceiptFault(
            "certificate-length-huge", .rejected(.transactionReceiptSignatureMalformed),
            "A length of 4 GiB less one byte.", .afterSigning { $0.declaredLength = .max }),
        TransactionReceiptFault(
            "certificate-empty", .rejected(.transactionReceiptSignatureMalformed),
            "A length of zero, and no certificate.", .afterSigning { $0.certificate = [] }),
        TransactionReceiptFault(
            "bytes-after-certificate", .rejected(.transactionReceiptSignatureMalformed),
            "Bytes after the certificate give one receipt endless variants.", .afterSigning { $0.trailingBytes = [0] }),
        TransactionReceiptFault(
            "bytes-in-certificate", .rejected(.certificateMalformed),
            "Bytes after the certificate's DER, within its length.", .afterSigning { $0.certificate.append(0) }),
    ]
}

/// Property lists that are not exactly one dictionary of quoted texts, or lack what is required.
extension TransactionReceiptForge {
    static let propertyLists: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "empty-dictionary", .rejected(.transactionReceiptMalformed), "A property list without a signature.",
            .bytes { _ in Array("{}".utf8) }),
        TransactionReceiptFault(
            "json-instead", .rejected(.transactionReceiptMalformed), "The same members as JSON.",
            .bytes { Array($0.wellFormedText.replacing(" = ", with: " : ").replacing(";\n", with: ",\n").utf8) }),
        TransactionReceiptFault(
            "app-receipt-instead", .rejected(.transactionReceiptMalformed), "An app receipt is no property list.",
            .bytes { $0.appReceipt.encoded }),
        TransactionReceiptFault(
            "bytes-after-the-end", .rejected(.transactionReceiptMalformed),
            "Bytes after the closing brace give one receipt endless variants.",
            .bytes { Array(($0.wellFormedText + "\n;").utf8) }),
        TransactionReceiptFault(
            "cut-short", .rejected(.transactionReceiptMalformed), "The closing brace is missing.",
            .bytes { $0.wellFormed.dropLast() }),
        TransactionReceiptFault(
            "unquoted-value", .rejected(.transactionReceiptMalformed),
            "OpenStep allows unquoted words; Apple writes none.",
            .bytes { Array($0.wellFormedText.replacing("\"100\"", with: "100").utf8) }),
        TransactionReceiptFault(
            "comment", .rejected(.transactionReceiptMalformed), "OpenStep allows comments; Apple writes none.",
            .bytes { Array(("/* */" + $0.wellFormedText).utf8) }),
        TransactionReceiptFault(
            "signature-missing", .rejected(.transactionReceiptMalformed), "Nothing is signed.",
            .members { $0.remove("signature") }),
        TransactionReceiptFault(
            "purchase-info-missing", .rejected(.transactionReceiptMalformed), "A signature over nothing.",
            .members { $0.remove("purchase-info") }),
        TransactionReceiptFault(
            "purchase-info-twice", .rejected(.transactionReceiptMalformed),
            "One is verified, and another parser reads the other one.",
            .members { $0.append("purchase-info", "e30=") }),
        TransactionReceiptFault(
            "environment-twice", .rejected(.transactionReceiptMalformed),
            "Duplicates are rejected where nothing is signed, too.",
            .members { $0.append("environment", "Production") }),
        TransactionReceiptFault(
            "environment-not-utf8", .rejected(.textInvalidUTF8), "A byte that begins no character.",
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0xFF]) }),
        TransactionReceiptFault(
            "environment-with-nul", .rejected(.textContainsNUL), "C code ends the text there.",
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0x53, 0]) }),
        TransactionReceiptFault(
            "too-many-members", .rejected(.tooManyAttributes), "More members than any receipt has.",
            .members { list in for number in 0..<64 { list.append("member-\(number)", "") } }),
        TransactionReceiptFault(
            "too-large", .rejected(.receiptTooLarge), "A genuine receipt, and 64 KiB of white space.",
            .bytes { $0.wellFormed + [UInt8](repeating: 0x20, count: 64 << 10) }),
    ]
}

extension TransactionReceiptForge {
    /// The app receipt of the same signer.
    var appReceipt: SignedDataTemplate {
        pki.receipts.container(signing: ReceiptContents.faultSample.payload)
    }
}
