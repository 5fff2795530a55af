// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Property lists that are not exactly one dictionary of quoted texts, or lack what is required.
extension TransactionReceiptFault {
    static let propertyLists: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "empty-dictionary", .rejected(.transactionReceiptMalformed),
            "A property list without a signature.",
            .bytes { _ in Array("{}".utf8) }),
        TransactionReceiptFault(
            "json-instead", .rejected(.transactionReceiptMalformed),
            "The same members as JSON.",
            .bytes { Array($0.wellFormedText.replacing(" = ", with: " : ").replacing(";\n", with: ",\n").utf8) }),
        TransactionReceiptFault(
            "app-receipt-instead", .rejected(.transactionReceiptMalformed),
            "An app receipt is no property list.",
            .bytes { $0.appReceipt.encoded }),
        TransactionReceiptFault(
            "bytes-after-the-end", .rejected(.transactionReceiptMalformed),
            "Bytes after the closing brace give one receipt endless variants.",
            .bytes { Array(($0.wellFormedText + "\n;").utf8) }),
        TransactionReceiptFault(
            "cut-short", .rejected(.transactionReceiptMalformed),
            "The closing brace is missing.",
            .bytes { $0.wellFormed.dropLast() }),
        TransactionReceiptFault(
            "unquoted-value", .rejected(.transactionReceiptMalformed),
            "OpenStep allows unquoted words; Apple writes none.",
            .bytes { Array($0.wellFormedText.replacing("\"100\"", with: "100").utf8) }),
        TransactionReceiptFault(
            "comment", .rejected(.transactionReceiptMalformed),
            "OpenStep allows comments; Apple writes none.",
            .bytes { Array(("/* */" + $0.wellFormedText).utf8) }),
        TransactionReceiptFault(
            "signature-missing", .rejected(.transactionReceiptMalformed),
            "Nothing is signed.",
            .members { $0.remove("signature") }),
        TransactionReceiptFault(
            "purchase-info-missing", .rejected(.transactionReceiptMalformed),
            "A signature over nothing.",
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
            "environment-not-utf8", .rejected(.textInvalidUTF8),
            "A byte that begins no character.",
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0xFF]) }),
        TransactionReceiptFault(
            "environment-with-nul", .rejected(.textContainsNUL),
            "C code ends the text there.",
            .bytes { Array($0.wellFormedText.utf8).replacing(Array("Sandbox".utf8), with: [0x53, 0]) }),
        TransactionReceiptFault(
            "too-many-members", .rejected(.tooManyAttributes),
            "More members than any receipt has.",
            .members { list in for number in 0..<64 { list.append("member-\(number)", "") } }),
        TransactionReceiptFault(
            "too-large", .rejected(.receiptTooLarge),
            "A genuine receipt, and 64 KiB of white space.",
            .bytes { $0.wellFormed + [UInt8](repeating: 0x20, count: 64 << 10) }),
    ]
}

extension TransactionReceiptForge {
    /// The app receipt of the same signer.
    var appReceipt: SignedDataTemplate {
        pki.receipts.container(signing: ReceiptContents.faultSample.payload)
    }
}
