// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is measured side by side.
enum Contender: CaseIterable, Hashable, Sendable {
    /// `ReceiptVerifier.verify` with the signer's chain remembered.
    case warm
    /// `ReceiptVerifier.verify` with nothing remembered.
    case cold
    /// The crypto floor: one digest of the signed octets and one RSA verification, nothing parsed.
    case floor
    /// OpenSSL's `d2i_CMS_bio` and `CMS_verify`.
    case cmsVerify
    /// Decoding the receipt's base64 text, which comes before all of these and is in none of them.
    case base64

    /// For error messages.
    var name: String {
        switch self {
        case .warm: "the verifier with a warm chain"
        case .cold: "the verifier with a cold chain"
        case .floor: "the crypto floor"
        case .cmsVerify: "CMS_verify"
        case .base64: "the base64 decoder"
        }
    }
}

/// What one thread needs to do a contender's work again and again.
protocol ContenderWorker {
    /// Does the work for one receipt and looks at the result.
    func accepts(_ receipt: SampleReceipt) -> Bool
}

/// A contender said no to a genuine receipt; its speed would mean nothing.
struct RefusedReceipt: Error, Hashable, CustomStringConvertible {
    let contender: Contender
    /// How many purchases the receipt has.
    let purchases: Int

    var description: String {
        "\(contender.name) refused a genuine receipt of \(purchases) purchases; nothing was measured."
    }
}
