// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import ReceiptForge

extension Population {
    /// Reads the body of `PUT /customers`.
    init(_ body: [UInt8], limits: SimulatorLimits, createdAt date: UTCDate) throws(ControlError) {
        let members = try ControlFields(
            body, known: ["bundle_id", "count", "environment", "first_transaction_id"])
        let app = try members.app()
        try self.init(
            app: app, count: try members.required("count").integer(in: 1...limits.maximumPopulation),
            firstTransactionID: try members["first_transaction_id"]?.integer(in: Self.firstTransactionIDs), at: date,
            limits: limits)
    }

    /// Creates a population, if its size and its transaction IDs are possible.
    init(
        app: AppInStore, count: Int64, firstTransactionID: Int64?, at date: UTCDate, limits: SimulatorLimits
    ) throws(ControlError) {
        guard (1...limits.maximumPopulation).contains(count) else {
            throw .wrongValue(of: "count", needed: "a whole number from 1 to \(limits.maximumPopulation)")
        }
        let first = firstTransactionID ?? Self.defaultFirstTransactionID
        guard Self.firstTransactionIDs.contains(first) else {
            throw .wrongValue(
                of: "first_transaction_id", needed: "a whole number from 1 to \(Self.firstTransactionIDs.upperBound)")
        }
        self.init(app: app, count: count, firstTransactionID: first, createdAt: date)
    }

    /// All transaction IDs of a population have at most 17 digits, so that app transaction IDs have 18.
    private static let firstTransactionIDs: ClosedRange<Int64> = 1...50_000_000_000_000_000

    /// The answer to `PUT /customers`: the formula of the transaction IDs.
    var json: ByteBuffer {
        ByteBuffer(json: { json in
            json.member("bundle_id", app.bundleID)
            json.member("environment", app.endpoint.rawValue)
            json.member("count", count)
            json.member("first_transaction_id", String(firstTransactionID))
            json.member("stride", Self.stride)
        })
    }

    /// Returns true if some transaction ID names a customer of both.
    func overlaps(_ other: Population) -> Bool {
        let (end, otherEnd) = (
            firstTransactionID + count * Self.stride, other.firstTransactionID + other.count * Self.stride
        )
        return app == other.app && firstTransactionID < otherEnd && other.firstTransactionID < end
    }

    /// Returns true if the other population has the same customers, perhaps since another time.
    func isSame(as other: Population) -> Bool {
        app == other.app && count == other.count && firstTransactionID == other.firstTransactionID
    }
}
