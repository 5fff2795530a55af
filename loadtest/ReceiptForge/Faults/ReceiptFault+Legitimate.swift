// SPDX-License-Identifier: Apache-2.0

/// Odd but genuine receipts: rejecting any of these rejects paying customers.
extension FaultForge {
    static let legitimate: [ReceiptFault] = [
        .genuine("certificates-reversed").afterSigning { $0.certificates.reverse() }
            .because("A SET has no order: the signer is found by issuer and serial number, never by position."),
        .genuine("root-omitted").afterSigning { $0.certificates.removeLast() }
            .because("The container need not carry the root: a configured trust anchor closes the chain."),
        .genuine("unsorted-sets")
            .attributes { attributes in
                attributes.isSorted = false
                attributes.attributes.reverse()
            }
            .because("The signature covers the bytes as they are, so the order inside a SET cannot be forged."),
        .genuine("unknown-attributes")
            .contents { $0.unknownAttributes = [.text(9_999, "later"), AttributeTemplate(2_147_483_647, value: [1])] }
            .because("Apple adds attribute types without notice; unknown ones are kept, not rejected."),
        .genuine("optional-attributes-missing")
            .attributes { attributes in
                let required: [AttributeNumber] = [.receiptType, .bundleID, .creationDate]
                attributes.attributes.removeAll { !required.contains($0.type) }
            }
            .because("Only receipt type, bundle ID and creation date are required."),
        .genuine("optional-attributes-present").contents { $0.fillOptionalAttributes() }
            .because("A volume licence, a preorder, a refund and an offer fill attributes most receipts leave empty."),
        .genuine("empty-strings")
            .attributes { attributes in
                attributes.replace(with: .text(.applicationVersion, ""))
                attributes.replace(with: .date(.originalPurchaseDate, nil))
            }
            .because("`0C 00` and `16 00` are how Apple writes an absent text or date."),
        .genuine("no-purchases").contents { $0.purchases = [] }
            .because("A free app, or one whose consumables are all finished, has an empty list of purchases."),
        .genuine("sixty-bit-numbers").contents { $0.downloadID = 0x0FFF_FFFF_FFFF_FFFF }
            .because("Download numbers exceed 2^53, beyond which a JSON number read as a double loses digits."),
        .genuine("signature-algorithm-with-digest")
            .afterSigning {
                $0.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha256WithRSAEncryption)
            }
            .because(
                "sha256WithRSAEncryption means the same as rsaEncryption beside a SHA-256 digest (RFC 5754 §3.2)."),
        .genuine("digest-parameters-absent")
            .afterSigning {
                $0.digestAlgorithms[0].parameters = nil
                $0.signerInfos[0].digestAlgorithm.parameters = nil
            }
            .because("RFC 5754 §2: parameters of a SHA-2 digest may be NULL or left out."),
        .genuine("sha1-digest").container { $0.pki.container(signing: $0.contents.payload, digest: .sha1) }
            .because("Receipts issued before August 2023 are signed with SHA-1 and still arrive every day."),
        .genuine("length-in-one-byte-form").contents { $0.purchases[0].productID = String(repeating: "p", count: 200) }
            .because("A product ID of 200 characters needs the length form `81`."),
        .genuine("length-in-three-byte-form")
            .contents {
                $0.unknownAttributes = [AttributeTemplate(9_999, value: [UInt8](repeating: 7, count: 100_000))]
            }
            .because("Above 64 KiB lengths take the form `83`, and the base64 text begins with MIMB or alike."),
        .genuine("five-hundred-purchases").contents { $0.purchases = Array(repeating: $0.purchases[0], count: 500) }
            .because(
                "Customers with years of weekly subscriptions exist; the largest receipt on record had five million bytes."
            ),
        .genuine("base64-with-line-breaks")
            .text { Base64Encoder.lines(Base64Encoder.text($0.wellFormed), width: 76, separator: "\r\n") }
            .because("Several client libraries wrap base64 at 76 characters (RFC 2045 §6.8)."),
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
