// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import ReceiptForge
import Receipts

/// Signed items, and a service that trusts their root.
enum SignedSamples {
    static let pki = TransactionPKI(seed: 1)
    /// Ten seconds after the items were signed.
    static let now = TransactionContents.signedByDefault.advanced(by: .seconds(10))

    static let service = VerificationService(verifier: CurrentVerifier(verifier))

    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    /// Returns the JWS as text.
    static func text(_ contents: some SignedContents) -> String {
        String(decoding: pki.jws(contents), as: UTF8.self)
    }

    /// Returns the JSON of a request.
    static func body(_ members: [String: Any]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: members, options: .sortedKeys), as: UTF8.self)
    }
}

extension String {
    /// The members of a JSON object.
    var jsonObject: NSDictionary? { try? JSONSerialization.jsonObject(with: Data(utf8)) as? NSDictionary }
    var jsonMembers: [String: Any]? { try? JSONSerialization.jsonObject(with: Data(utf8)) as? [String: Any] }
}
