// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Decodes a receipt's text.
struct Base64Worker: ContenderWorker {
    func accepts(_ receipt: SampleReceipt) -> Bool {
        let text = receipt.base64
        guard let der = try? Base64.decode(text.span) else { return false }
        return der.count == receipt.der.count && der.last == receipt.der.last
    }
}
