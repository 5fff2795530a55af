// SPDX-License-Identifier: Apache-2.0

internal import Yams

extension ClientsFile {
    /// Reads the identities of a client's certificates; none for an absent list.
    mutating func readCertificates(_ node: Node?) -> [CertificateIdentity] {
        elements(of: node, named: "certificates").compactMap { element in
            guard let text = text(element, named: "certificates", of: element) else { return nil }
            guard let identity = CertificateIdentity(text) else {
                return rejected(
                    "certificates must have texts such as dns:shop.internal, uri:spiffe://prod/shop, or sha256: and 64 "
                        + "hexadecimal digits", at: element)
            }
            guard certificateIdentities.insert(identity).inserted else {
                return rejected("the certificate \(text.printable()) appears twice", at: element)
            }
            return identity
        }
    }
}
