// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Odd but genuine receipts: rejecting any of these rejects paying customers.
extension FaultForge {
    static let legitimate: [ReceiptFault] = [
        ReceiptFault(
            "certificates-reversed", .genuine,
            "A SET has no order: the signer is found by issuer and serial number, never by position.",
            .afterSigning { $0.certificates.reverse() }),
        ReceiptFault(
            "root-omitted", .genuine,
            "The container need not carry the root: a configured trust anchor closes the chain.",
            .afterSigning { $0.certificates.removeLast() }),
        ReceiptFault(
            "unsorted-sets", .genuine,
            "The signature covers the bytes as they are, so the order inside a SET cannot be forged.",
            .attributes { attributes in
                attributes.order = .asWritten
                attributes.attributes.reverse()
            }),
        ReceiptFault(
            "unknown-attributes", .genuine,
            "Apple adds attribute types without notice; unknown ones are kept, not rejected.",
            .contents { $0.unknownAttributes = [.text(9_999, "later"), AttributeTemplate(2_147_483_647, value: [1])] }),
        ReceiptFault(
            "optional-attributes-missing", .genuine, "Only receipt type, bundle ID and creation date are required.",
            .attributes { attributes in
                let required: [AttributeNumber] = [.receiptType, .bundleID, .creationDate]
                attributes.attributes.removeAll { !required.contains($0.type) }
            }),
        ReceiptFault(
            "optional-attributes-present", .genuine,
            "A volume licence, a preorder, a refund and an offer fill attributes most receipts leave empty.",
            .contents { $0.fillOptionalAttributes() }),
        ReceiptFault(
            "empty-strings", .genuine, "`0C 00` and `16 00` are how Apple writes an absent text or date.",
            .attributes { attributes in
                attributes.replace(with: .text(.applicationVersion, ""))
                attributes.replace(with: .date(.originalPurchaseDate, nil))
            }),
        ReceiptFault(
            "no-purchases", .genuine,
            "A free app, or one whose consumables are all finished, has an empty list of purchases.",
            .contents { $0.purchases = [] }),
        ReceiptFault(
            "sixty-bit-numbers", .genuine,
            "Download numbers exceed 2^53, beyond which a JSON number read as a double loses digits.",
            .contents { $0.downloadID = 0x0FFF_FFFF_FFFF_FFFF }),
        ReceiptFault(
            "signature-algorithm-with-digest", .genuine,
            "sha256WithRSAEncryption means the same as rsaEncryption beside a SHA-256 digest (RFC 5754 §3.2).",
            .afterSigning {
                $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha256WithRSAEncryption)
            }),
        ReceiptFault(
            "digest-parameters-absent", .genuine, "RFC 5754 §2: parameters of a SHA-2 digest may be NULL or left out.",
            .afterSigning {
                $0.digestAlgorithms[0].parameters = nil
                $0.signerInfos[0].digestAlgorithm.parameters = nil
            }),
        ReceiptFault(
            "sha1-digest", .genuine,
            "Receipts issued before August 2023 are signed with SHA-1 and still arrive every day.",
            .container { $0.pki.container(signing: $0.contents.payload, digest: .sha1) }),
        ReceiptFault(
            "length-in-one-byte-form", .genuine, "A product ID of 200 characters needs the length form `81`.",
            .contents { $0.purchases[0].productID = String(repeating: "p", count: 200) }),
        ReceiptFault(
            "length-in-three-byte-form", .genuine,
            "Above 64 KiB lengths take the form `83`, and the base64 text begins with MIMB or alike.",
            .contents {
                $0.unknownAttributes = [AttributeTemplate(9_999, value: [UInt8](repeating: 7, count: 100_000))]
            }
        ),
        ReceiptFault(
            "five-hundred-purchases", .genuine,
            "Customers with years of weekly subscriptions exist; the largest receipt on record had five million bytes.",
            .contents { $0.purchases = Array(repeating: $0.purchases[0], count: 500) }),
        ReceiptFault(
            "base64-with-line-breaks", .genuine,
            "Several client libraries wrap base64 at 76 characters (RFC 2045 §6.8).",
            .text { Base64Encoder.lines(Base64Encoder.text($0.wellFormed), width: 76, separator: "\r\n") }),
    ]
}

extension ReceiptContents {
    fileprivate mutating func fillOptionalAttributes() {
        expirationDate = UTCDate(2030, 1, 1)
        preorderDate = UTCDate(2023, 6, 1)
        purchases[0].cancellationDate = creationDate
        purchases[0].cancellationReason = .issueInApp
        purchases[0].promotionalOfferID = "come.back"
        purchases[1].isTrialPeriod = true
        purchases[1].isInIntroOfferPeriod = true
    }
}
