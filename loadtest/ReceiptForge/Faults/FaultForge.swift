// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one sample receipt.
package struct FaultForge: FaultApplying {
    package enum Recipe: Sendable {
        case text(@Sendable (FaultForge) -> String)
        case bytes(@Sendable (FaultForge) -> [UInt8])
        /// A container made from scratch.
        case container(@Sendable (FaultForge) -> SignedDataTemplate)
        /// The finished container, after signing.
        case afterSigning(@Sendable (inout SignedDataTemplate) -> Void)
        /// The contents of the receipt, before signing.
        case contents(@Sendable (inout ReceiptContents) -> Void)
        /// The attributes of the payload, before signing.
        case attributes(@Sendable (inout AttributeSet) -> Void)
        /// The certificates, before their authorities sign them.
        case chain(@Sendable (inout Chain) -> Void)
    }

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

    package var wellFormed: [UInt8] {
        pki.sign(contents)
    }

    /// Returns the evidence that a client would send with this fault.
    package func evidence(with fault: ReceiptFault) -> ForgedEvidence {
        switch fault.recipe {
        case .text(let make): .text(make(self))
        case .bytes(let make): .der(make(self))
        case .container(let make): .der(make(self).encoded)
        case .afterSigning(let edit): .der(edited(container, by: edit).encoded)
        case .contents(let edit): .der(pki.sign(edited(contents, by: edit)))
        case .attributes(let edit): .der(signed(edited(contents.attributeSet, by: edit)).encoded)
        case .chain(let edit): .der(signed(underChain: edited(Chain(keys: pki.keys), by: edit)).encoded)
        }
    }
}

extension FaultForge {
    var container: SignedDataTemplate {
        pki.container(signing: contents.payload)
    }

    func signed(_ attributes: AttributeSet) -> SignedDataTemplate {
        pki.container(signing: attributes.element.encoded)
    }

    func signed(underChain chain: Chain) -> SignedDataTemplate {
        signed(by: chain.roles.leaf, certificates: chain.certificates(signedWith: pki.keys))
    }

    /// Signs the sample with the key of the first of `certificates`.
    func signed(by signer: KeyRole, certificates: [IssuedCertificate]) -> SignedDataTemplate {
        pki.container(signing: contents.payload, by: signer, certificates: certificates)
    }

    /// A chain with the genuine names and an attacker's keys.
    var lookalikeCertificates: [IssuedCertificate] {
        Chain(keys: pki.keys, roles: .attacker).certificates(signedWith: pki.keys)
    }
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
    /// Returns the contents that a verifier must read from a receipt with this fault; nil unless it is genuine.
    package func contents(with fault: ReceiptFault) -> ReceiptContents? {
        guard fault.expected == .genuine else { return nil }
        switch fault.recipe {
        case .contents(let edit): return edited(contents, by: edit)
        case .attributes(let edit): return keepingPurchases(of: edited(contents.attributeSet, by: edit))
        case .text, .bytes, .container, .afterSigning, .chain: return contents
        }
    }

    private func keepingPurchases(of attributes: AttributeSet) -> ReceiptContents {
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
