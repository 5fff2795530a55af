// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one sample receipt.
package struct FaultForge: FaultApplying {
    package static let faults =
        legitimate + base64 + encoding + limits + container + signedAttributes + attributes + values + certificates
        + chains + signatures

    /// The authority that a verifier under test must trust.
    package let pki: ForgedPKI
    /// The contents of the sample: a sandbox receipt with an active and an expired period of one subscription.
    package let contents: ReceiptContents

    package init(pki: ForgedPKI) {
        self.pki = pki
        contents = .faultSample
    }

    package var wellFormed: [UInt8] { pki.sign(contents) }

    package var ordinary: ForgedEvidence { .der(wellFormed) }
}

/// The steps at which a fault makes its difference. All later steps are correct.
extension ReceiptFault {
    func text(_ make: @escaping Make<FaultForge, String>) -> Self { evidence { .text(make($0)) } }

    func bytes(_ make: @escaping Make<FaultForge, [UInt8]>) -> Self { evidence { .der(make($0)) } }

    /// A container made from scratch.
    func container(_ make: @escaping Make<FaultForge, SignedDataTemplate>) -> Self { bytes { make($0).encoded } }

    /// The finished container, after signing.
    func afterSigning(_ edit: @escaping Edit<SignedDataTemplate>) -> Self {
        afterSigning { container, _ in edit(&container) }
    }

    func afterSigning(_ edit: @escaping @Sendable (inout SignedDataTemplate, FaultForge) -> Void) -> Self {
        container { forge in forge.edited(forge.container) { edit(&$0, forge) } }
    }

    /// The contents of the receipt, before signing.
    func contents(_ edit: @escaping Edit<ReceiptContents>) -> Self {
        evidence {
            .der($0.pki.sign($0.edited($0.contents, by: edit)))
        } reading: {
            $0.edited($0.contents, by: edit)
        }
    }

    /// The attributes of the payload, before signing.
    func attributes(_ edit: @escaping Edit<AttributeSet>) -> Self {
        evidence {
            .der($0.pki.container(signing: $0.edited($0.contents.attributeSet, by: edit).element.encoded).encoded)
        } reading: {
            $0.keepingPurchases(of: $0.edited($0.contents.attributeSet, by: edit))
        }
    }

    /// The certificates, before their authorities sign them.
    func chain(_ edit: @escaping Edit<Chain<RSAPrivateKey>>) -> Self {
        container { $0.signed(underChain: $0.edited(Chain($0.pki.keys), by: edit)) }
    }
}

extension FaultForge {
    var container: SignedDataTemplate {
        pki.container(signing: contents.payload)
    }

    func signed(underChain chain: Chain<RSAPrivateKey>) -> SignedDataTemplate {
        pki.container(signing: contents.payload, by: chain.keys.leaf, certificates: chain.certificates)
    }

    /// Signs the sample with the key of the first of `certificates`.
    func signed(by signer: KeyRole, certificates: [IssuedCertificate]) -> SignedDataTemplate {
        pki.container(signing: contents.payload, by: pki.keys.key(for: signer), certificates: certificates)
    }

    var lookalikeCertificates: [IssuedCertificate] { Chain.lookalike(pki.keys).certificates }
}

extension ReceiptContents {
    static let faultSample: ReceiptContents = {
        let created = UTCDate(2024, 3, 1, 12, 30, 15)
        var contents = ReceiptContents(bundleID: "com.example.forge", creationDate: created)
        contents.purchases = [
            .monthly("2000000000000001", from: created.advanced(byDays: -31)),
            .monthly("2000000000000002", from: created.advanced(byDays: -1)),
        ]
        return contents
    }()
}

extension PurchaseContents {
    static func monthly(_ transactionID: String, from date: UTCDate) -> PurchaseContents {
        var purchase = PurchaseContents(
            productID: "com.example.forge.monthly", transactionID: transactionID, purchaseDate: date)
        purchase.originalTransactionID = "2000000000000001"
        purchase.expiresDate = date.advanced(byDays: 30)
        purchase.webOrderLineItemID = 2_000_000_000_000_100
        return purchase
    }
}

extension FaultForge {
    fileprivate func keepingPurchases(of attributes: AttributeSet) -> ReceiptContents {
        let count = attributes.attributes.count { $0.type == .inAppPurchase }
        return edited(contents) { contents in
            contents.purchases = (0..<count).map { contents.purchases[$0 % contents.purchases.count] }
        }
    }
}

extension AttributeSet {
    mutating func edit(_ type: AttributeNumber, _ change: (inout AttributeTemplate) -> Void) {
        for index in attributes.indices where attributes[index].type == type {
            change(&attributes[index])
        }
    }

    /// Changes the value of every attribute of this type.
    mutating func editValue(of type: AttributeNumber, _ change: (inout [UInt8]) -> Void) {
        edit(type) { change(&$0.value) }
    }

    mutating func append(_ attribute: AttributeTemplate) {
        attributes.append(attribute)
    }

    /// Replaces the first purchase by an edited purchase.
    mutating func editFirstPurchase(_ change: (inout AttributeSet) -> Void) {
        var purchase = AttributeSet(attributes: ReceiptContents.faultSample.purchases[0].attributes)
        change(&purchase)
        guard let index = attributes.firstIndex(where: { $0.type == .inAppPurchase }) else { return }
        attributes[index] = AttributeTemplate(.inAppPurchase, purchase.element)
    }
}
