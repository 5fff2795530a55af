// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts

/// Signed items for many tests: one subscription, whose current period ends 240 seconds after it was signed.
enum SignedSamples {
    static let pki = TransactionPKI(seed: 1)
    static let app = "com.example.forge"
    static let original = "2000000900000001"
    /// The time at which the items were signed.
    static let signed = TransactionContents.signedByDefault

    /// Trusts the forge's root for Production and Sandbox.
    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    /// Returns the time in seconds after the items were signed.
    static func time(_ seconds: Int64) -> Timestamp { signed.advanced(by: .seconds(seconds)) }

    static func transaction(_ edit: (inout TransactionContents) -> Void = { _ in }) -> [UInt8] {
        sign(TransactionContents(), edit)
    }

    static func renewalInfo(_ edit: (inout RenewalInfoContents) -> Void = { _ in }) -> [UInt8] {
        sign(RenewalInfoContents(), edit)
    }

    static func appTransaction(_ edit: (inout AppTransactionContents) -> Void = { _ in }) -> [UInt8] {
        sign(AppTransactionContents(), edit)
    }

    static let notification = pki.jws(JWSForge(pki: pki).notification())

    /// Returns the JWS with an edited signature.
    static func resigned(_ jws: [UInt8], _ edit: ([UInt8]) -> [UInt8]) -> [UInt8] {
        guard let dot = jws.lastIndex(of: UInt8(ascii: ".")) else { return jws }
        guard let signature = Base64URLDecoder.decode(Array(jws[(dot + 1)...]).span) else { return jws }
        return jws[...dot] + Base64URLText.encode(edit(signature))
    }

    private static func sign<Contents: SignedContents>(
        _ contents: Contents, _ edit: (inout Contents) -> Void
    ) -> [UInt8] {
        var contents = contents
        edit(&contents)
        return pki.jws(contents)
    }
}

extension VerificationRequest {
    /// Creates a request about signed items.
    convenience init(
        _ transactions: [[UInt8]], renewalInfos: [[UInt8]] = [], appTransaction: [UInt8]? = nil,
        partial: Bool = false, mode: Mode = .auto
    ) {
        let items = SignedTransactions(
            transactions, renewalInfos: renewalInfos, appTransaction: appTransaction, acceptsPart: partial)
        self.init(evidence: .signedTransactions(items), mode: mode)
    }
}
