// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import ReceiptForge

/// The customers of a population in production, as their devices and backends know them.
package struct SimulatedCustomers: Sendable {
    package static let bundleID = "com.example.shop"

    package let count: Int
    private let population: Population

    /// - Parameter date: the date on which the population was made.
    package init(_ count: Int, at date: UTCDate) {
        self.count = count
        population = Population(
            app: AppInStore(bundleID: Self.bundleID, endpoint: .production), count: Int64(count),
            firstTransactionID: Population.defaultFirstTransactionID, createdAt: date)
    }

    /// Returns the transaction ID of the newest period of a customer's subscription.
    package func transactionID(_ number: Int) -> String { newest(number).purchase.transactionID }

    /// Returns the newest period of a customer's subscription as a JWS of the day before, as a device would have it. The
    /// gateway calls Apple about it: a signature of this minute would be an answer by itself.
    package func signedTransaction(_ number: Int, by pki: TransactionPKI) -> String {
        var contents = TransactionContents(newest(number), of: population.customer(number: Int64(number)))
        contents.signedDate = population.createdAt.advanced(byDays: -1).timestamp
        return String(decoding: pki.jws(contents), as: UTF8.self)
    }

    /// Returns a customer's app receipt of the day before, in base64. Periods that began since are not in it.
    package func receipt(_ number: Int, by pki: ForgedPKI) -> String {
        var contents = population.customer(number: Int64(number)).contents
        contents.creationDate = population.createdAt.advanced(byDays: -1)
        return ForgedEvidence.der(pki.sign(contents)).base64
    }

    private func newest(_ number: Int) -> SimulatedTransaction {
        let purchases = population.customer(number: Int64(number)).contents.purchases.filter(\.isSubscription)
        return SimulatedTransaction(purchases[purchases.count - 1])
    }
}
