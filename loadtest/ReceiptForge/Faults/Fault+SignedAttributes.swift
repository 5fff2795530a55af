// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// RFC 5652 §5.4: with signed attributes the signature covers their DER SET instead of the content. A receipt's payload
/// is itself a DER SET, so one signature can be read both ways.
extension Fault {
    static let signedAttributes: [Fault] = [
        Fault(
            "signed-attributes-confusion", .rejected(.signedAttributesPresent),
            "A genuine payload moved into the signed attributes: Apple's signature verifies over it, and the content is free.",
            .container { $0.confused }),
        Fault(
            "signed-attributes", .rejected(.signedAttributesPresent),
            "Ordinary CMS with content type and message digest, accepted by OpenSSL; no genuine receipt looks like this.",
            .container { $0.withSignedAttributes }),
    ]
}

extension FaultForge {
    /// The signature of the sample's payload, around a content that its signer never saw.
    fileprivate var confused: SignedData {
        var invented = contents
        invented.purchases[1].expiresDate = UTCDate(2099, 1, 1)
        var container = container
        container.signerInfos[0].signedAttributes = contents.attributeSet.element.contents
        container.encapsulatedContentInfo.eContent = .octetString(invented.payload)
        return container
    }

    fileprivate var withSignedAttributes: SignedData {
        let digest = pki.digest.hash(contents.payload)
        let attributes = DERElement.set(of: [CMSAttribute.contentType(.data), CMSAttribute.messageDigest(digest)])
        var container = container
        container.signerInfos[0].signedAttributes = attributes.contents
        container.signerInfos[0].signature =
            pki.keys.key(for: .leaf).signature(over: attributes.encoded, digest: pki.digest)
        return container
    }
}
