// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts
internal import SignedPayloads

/// The body of `PUT /accounts`: `{"receipts": [base64…], "signed_transactions": [JWS…]}`.
struct AccountEvidence: Sendable {
    private let receipts: [String]
    private let signed: [String]

    init(_ body: [UInt8], limits: SimulatorLimits) throws(ControlError) {
        let members = try ControlMembers(body, known: ["receipts", "signed_transactions"])
        receipts = try members.texts("receipts")
        signed = try members.texts("signed_transactions")
        guard receipts.count + signed.count <= limits.maximumEvidence else {
            throw .tooMuchEvidence(maximum: limits.maximumEvidence)
        }
    }

    /// Registers all evidence in its order. Returns the number of pieces.
    func register(in store: SimulatedStore, _ call: CallContext) throws(ControlError) -> Int {
        for (index, receipt) in receipts.enumerated() {
            try Self.register(receipt, "receipts[\(index)]", store, call)
        }
        for (index, jws) in signed.enumerated() {
            try Self.register(jws: jws, "signed_transactions[\(index)]", store, call)
        }
        return receipts.count + signed.count
    }

    private static func register(
        _ receipt: String, _ name: String, _ store: SimulatedStore, _ call: CallContext
    ) throws(ControlError) {
        let subject = ReceiptRequest.subject(ofReceipt: receipt, store.verifier, call.now).0
        guard case .genuine(let receipt) = subject else { throw .notGenuine(name) }
        let endpoint: Endpoint = receipt.environment == .production ? .production : .sandbox
        guard store.customers.register(receipt, at: endpoint, call).isKept else { throw .tooManyAccounts }
    }

    private static func register(
        jws: String, _ name: String, _ store: SimulatedStore, _ call: CallContext
    ) throws(ControlError) {
        let isKept: Bool
        switch try? store.verifier.verify(jws: Array(jws.utf8), at: call.now) {
        case .transaction(let transaction): isKept = store.customers.register(transaction, call)
        case .appTransaction(let transaction): isKept = store.customers.register(transaction, call)
        case .renewalInfo, .notification, nil: throw .notGenuine(name)
        }
        guard isKept else { throw .tooManyAccounts }
    }
}
