// SPDX-License-Identifier: Apache-2.0

@testable import ReceiptForge

/// Signed receipts that differ from the sample in ways for which the forge has no named fault.
extension FaultForge {
    func receipt(_ edit: (inout ReceiptContents) -> Void) -> [UInt8] {
        var contents = contents
        edit(&contents)
        return pki.sign(contents)
    }

    func receipt(attributes edit: (inout AttributeSet) -> Void) -> [UInt8] {
        var attributes = contents.attributeSet
        edit(&attributes)
        return pki.container(signing: attributes.element.encoded).encoded
    }

    /// The sample receipt with other contents, under a chain whose certificates are edited before they are signed.
    func receipt(
        _ edit: (inout ReceiptContents) -> Void, chain editChain: (inout Chain<RSAPrivateKey>) -> Void
    ) -> [UInt8] {
        var contents = contents
        edit(&contents)
        var chain = Chain(pki.keys)
        editChain(&chain)
        return pki.container(signing: contents.payload, by: chain.keys.leaf, certificates: chain.certificates).encoded
    }

    /// The sample receipt with its certificates in this order; a missing index omits its certificate.
    func receipt(certificateOrder order: [Int]) -> [UInt8] {
        var container = container
        container.certificates = order.map { pki.certificates[$0] }
        return container.encoded
    }

    /// A receipt signed by the root itself, without other certificates, as from Xcode.
    func receiptSignedByRoot(receiptType: String) -> [UInt8] {
        var contents = contents
        contents.receiptType = receiptType
        return pki.container(
            signing: contents.payload, by: pki.keys.key(for: .root), certificates: [pki.root]
        ).encoded
    }

    /// The sample's certificates, with the intermediate as signer instead of the leaf.
    var receiptSignedByIntermediate: [UInt8] {
        var container = container
        container.signerInfos = [
            SignerInfoTemplate(
                signing: contents.payload, by: pki.keys.key(for: .intermediate), certificate: pki.intermediate,
                digest: pki.digest)
        ]
        return container.encoded
    }

    /// The sample's container with an attacker's signature.
    var receiptSignedByStranger: [UInt8] {
        var container = container
        container.signerInfos[0].signature =
            pki.keys.key(for: .attackerLeaf).signature(over: contents.payload, digest: pki.digest)
        return container.encoded
    }

    func receipt(leafSerialNumber: [UInt8]) -> [UInt8] {
        receipt({ _ in }, chain: { $0.leaf.serialNumber = leafSerialNumber })
    }
}

extension FaultForge {
    func receipt(creationDate: String) -> [UInt8] {
        receipt(attributes: { $0.replace(with: AttributeTemplate(.creationDate, .ia5String(creationDate))) })
    }
}

extension FaultForge {
    /// The sample receipt under a leaf and `count` authorities, each issued by the next and the last by the root.
    func receipt(authorities count: Int, listsRoot: Bool) -> [UInt8] {
        let chain = Chain(pki.keys), key = pki.keys.key(for: .intermediate)
        let names = (0..<count).map { DistinguishedName(.commonName("Authority \($0)")) }
        var leaf = chain.leaf
        leaf.issuer = names[0]
        let authorities = names.indices.map { index in
            var authority = chain.intermediate
            authority.subject = names[index]
            authority.replace(with: .certificateAuthority())
            guard index + 1 < count else { return authority.signed(by: pki.keys.key(for: .root)) }
            authority.issuer = names[index + 1]
            return authority.signed(by: key)
        }
        return pki.container(
            signing: contents.payload,
            certificates: [leaf.signed(by: key)] + authorities + (listsRoot ? [pki.root] : [])
        ).encoded
    }

    /// A root with the sample root's subject and its own key.
    func namesakeOfRoot(_ number: UInt8) -> [UInt8] {
        let key = pki.keys.key(for: .attackerRoot)
        var root = CertificateTemplate.root(key: key)
        root.serialNumber = [number + 100]
        return root.signed(by: key).der
    }

    var weakRoot: [UInt8] {
        let key = pki.keys.key(for: .shortLeaf)
        return CertificateTemplate.root(key: key).signed(by: key).der
    }
}

/// The certificates of a chain that come with the container and are not trusted by themselves.
enum ForgedLink: CaseIterable {
    case leaf, intermediate
}

extension FaultForge {
    func end(_ link: ForgedLink, at end: UTCDate) -> [UInt8] {
        receipt({ _ in }, chain: { $0[link].validity.notAfter = end.element })
    }

    func receipt(beginning link: ForgedLink, at begin: UTCDate) -> [UInt8] {
        receipt({ _ in }, chain: { $0[link].validity.notBefore = begin.element })
    }

    func receipt(created date: UTCDate, leafAndIntermediateEnd end: UTCDate) -> [UInt8] {
        receipt(
            { $0.creationDate = date },
            chain: { chain in
                for link in ForgedLink.allCases { chain[link].validity.notAfter = end.element }
            })
    }
}

extension Chain {
    fileprivate subscript(link: ForgedLink) -> CertificateTemplate {
        get { link == .leaf ? leaf : intermediate }
        set { if link == .leaf { leaf = newValue } else { intermediate = newValue } }
    }
}

/// Attributes that the forge's contents cannot express.
extension FaultForge {
    func receipt(settingInteger type: AttributeNumber, to contents: [UInt8]) -> [UInt8] {
        receipt(attributes: { attributes in
            attributes.remove(type)
            attributes.append(AttributeTemplate(type, DERNode(.integer, contents)))
        })
    }

    func receipt(without type: AttributeNumber) -> [UInt8] {
        receipt(attributes: { $0.remove(type) })
    }

    /// The sample receipt with a replaced attribute of this type in its first purchase.
    func receipt(replacingInFirstPurchase attribute: AttributeTemplate) -> [UInt8] {
        receipt(attributes: { $0.editFirstPurchase { $0.replace(with: attribute) } })
    }

    /// The sample receipt with additional attributes in its first purchase.
    func receipt(addingToFirstPurchase attributes: [AttributeTemplate]) -> [UInt8] {
        receipt(attributes: { $0.editFirstPurchase { $0.attributes += attributes } })
    }
}

extension FaultForge {
    /// The sample's device hash in a receipt whose other contents are edited.
    func receiptWithHashOfOther(_ edit: (inout ReceiptContents) -> Void) -> [UInt8] {
        var edited = contents
        edit(&edited)
        var attributes = edited.attributeSet
        attributes.replace(with: AttributeTemplate(.deviceHash, value: contents.deviceHash))
        return pki.container(signing: attributes.element.encoded).encoded
    }

    func receiptWithDeviceHash(_ edit: ([UInt8]) -> [UInt8]) -> [UInt8] {
        receipt(attributes: { $0.replace(with: AttributeTemplate(.deviceHash, value: edit(contents.deviceHash))) })
    }
}

/// Purchases and texts that the forge's contents cannot express.
extension FaultForge {
    func receipt(settingText type: AttributeNumber, to bytes: [UInt8]) -> [UInt8] {
        receipt(attributes: { $0.replace(with: AttributeTemplate(type, DERNode(.utf8String, bytes))) })
    }

    func receiptWithProductType(_ number: Int64) -> [UInt8] {
        receipt(attributes: { $0.editFirstPurchase { $0.replace(with: .integer(.productType, number)) } })
    }

    func receipt(withoutInFirstPurchase type: AttributeNumber) -> [UInt8] {
        receipt(attributes: { $0.editFirstPurchase { $0.remove(type) } })
    }

    /// The sample receipt with purchases in this order, which a sorted SET would not keep.
    func receiptWithPurchases(inOrder transactionIDs: [String]) -> [UInt8] {
        receipt(attributes: { attributes in
            attributes.isSorted = false
            attributes.remove(.inAppPurchase)
            attributes.attributes += transactionIDs.map { identifier in
                PurchaseContents(
                    productID: "product", transactionID: identifier, purchaseDate: contents.creationDate
                ).attribute
            }
        })
    }
}
