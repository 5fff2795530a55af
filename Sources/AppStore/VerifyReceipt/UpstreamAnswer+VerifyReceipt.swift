// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

extension UpstreamAnswer {
    /// Creates the answer of a response; nil if it does not name an app.
    init?(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment) {
        guard let receipt = response.receipt else { return nil }
        let latestReceipt = response.latestReceipt.flatMap { try? Base64.decode(Array($0.utf8).span) }
        self.init(
            environment: response.environment ?? environment.environment, bundleID: receipt.bundleID,
            transactions: response.transactions.merged(), renewals: response.pendingRenewalInfo,
            // DER of a signed container begins with 0x30; a transaction receipt does not.
            latestReceipt: latestReceipt?.first == 0x30 ? latestReceipt : nil, body: response.body)
    }
}

extension [Transaction] {
    /// Merges transactions with the same ID: the first of them counts, but a refund in any of them does.
    fileprivate func merged() -> [Transaction] {
        var merged: [Transaction] = []
        var indices: [String: Int] = [:]
        for transaction in self {
            guard let index = indices[transaction.transactionID] else {
                indices[transaction.transactionID] = merged.count
                merged.append(transaction)
                continue
            }
            guard merged[index].cancellationDate == nil, let date = transaction.cancellationDate else { continue }
            (merged[index].cancellationDate, merged[index].cancellationReason) = (date, transaction.cancellationReason)
        }
        return merged
    }
}
