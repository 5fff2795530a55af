// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The `latest_receipt` of an answer.
struct LatestReceipt {
    /// Apple's contents of it.
    let contents: ReceiptContents
    /// The receipt in the request.
    let sent: ReceiptContents
    let pki: ForgedPKI

    /// Another authority, created on first use: finding primes takes a while.
    private static let stranger = ForgedPKI(seed: 0x57A6)

    /// Returns the receipt in base64, or its replacement; nil for none.
    func text(_ replacement: ServerFault.LatestReceipt?) -> String? {
        var contents = contents
        switch replacement {
        case nil: break
        case .missing: return nil
        case .brokenBase64: return String(pki.sign(contents).base64.dropLast())
        case .junk: return "MIMB" + String(repeating: "QUJD", count: 5_000_000 / 3)
        case .signedByStranger: return Self.stranger.sign(contents).base64
        case .ofOtherApp: contents.bundleID = "com.example.other"
        case .older: contents.creationDate = sent.creationDate.advanced(byDays: -1)
        }
        return pki.sign(contents).base64
    }
}
