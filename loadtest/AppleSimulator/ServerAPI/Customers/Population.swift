// SPDX-License-Identifier: Apache-2.0

package import ReceiptForge

/// Customers whose purchases follow from their numbers, so that clients know transaction IDs without sending anything.
///
/// Customer n has the original transaction ID `firstTransactionID + 1,000,000 × n`. It is a monthly subscription of
/// 1 + n mod 6 periods, whose transaction IDs are the original plus 0, 1 and so on.
struct Population: Hashable, Sendable {
    let app: AppInStore
    let count: Int64
    let firstTransactionID: Int64
    let createdAt: UTCDate

    /// Stories add multiples of 10,000 to the last transaction ID; twelve of them must fit.
    static let stride = NotificationSeries.stride
    /// The default of the first transaction ID: 16 digits, beginning with 2 as in the sandbox.
    static let defaultFirstTransactionID = NotificationSeries.firstTransactionID

    /// Returns the number of the customer with a transaction ID or an app transaction ID.
    func customer(withID id: Int64) -> Int64? {
        let transaction = CustomerIDs.originalTransactionID(ofAppTransactionID: id) ?? id
        let offset = transaction - firstTransactionID
        guard offset >= 0, offset / Self.stride < count else { return nil }
        return offset / Self.stride
    }

    func originalTransactionID(ofCustomer number: Int64) -> String {
        String(firstTransactionID + number * Self.stride)
    }

    /// Returns a customer without changes.
    func customer(number: Int64) -> Customer {
        var contents = ReceiptContents(of: app, createdAt: createdAt)
        contents.adamID = app.appAppleID ?? 0
        contents.purchases = subscription(number) + items(number)
        return Customer(app: app, receipt: contents)
    }

    /// Returns periods of 30 days. The last period began a day ago or more; each fifth customer's last period ended
    /// eleven days ago or more.
    private func subscription(_ number: Int64) -> [PurchaseContents] {
        let (original, periods) = (firstTransactionID + number * Self.stride, 1 + number % 6)
        let elapsedDays = 1 + number * 7 % 28 + (number % 5 == 4 ? 40 : 0)
        let first = createdAt.advanced(byDays: -elapsedDays - (periods - 1) * 30)
        return (0..<periods).map { index in
            let start = first.advanced(byDays: index * 30)
            var period = PurchaseContents(
                productID: app.bundleID + ".premium.monthly", transactionID: String(original + index),
                purchaseDate: start)
            (period.originalTransactionID, period.originalPurchaseDate) = (String(original), first)
            period.expiresDate = start.advanced(byDays: 30)
            period.webOrderLineItemID = original + 900 + index
            period.isTrialPeriod = index == 0 && number % 3 == 0
            return period
        }
    }

    /// Returns a consumable for each second customer, and a non-consumable for each fourth.
    private func items(_ number: Int64) -> [PurchaseContents] {
        let original = firstTransactionID + number * Self.stride
        let bought = createdAt.advanced(byDays: -1 - number % 300)
        let coins = PurchaseContents(
            .consumable, productID: app.bundleID + ".coins.500", transactionID: String(original + 500),
            purchaseDate: bought)
        let lifetime = PurchaseContents(
            .nonConsumable, productID: app.bundleID + ".lifetime", transactionID: String(original + 501),
            purchaseDate: bought)
        return (number % 2 == 0 ? [coins] : []) + (number % 4 == 1 ? [lifetime] : [])
    }
}

extension PurchaseContents {
    /// Creates a single item, which has no introductory price.
    init(_ type: ProductType, productID: String, transactionID: String, purchaseDate: UTCDate) {
        self.init(productID: productID, transactionID: transactionID, purchaseDate: purchaseDate)
        (productType, isInIntroOfferPeriod) = (type, nil)
    }
}

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
