// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import Receipts

/// The body of `PUT /accounts`: `{"receipts": [base64…], "signed_transactions": [JWS…], "answers": [object…]}`.
struct AccountEvidence: Sendable {
    private let receipts: [String]
    private let signed: [String]
    private let answers: [RecordedAnswer]

    init(_ body: [UInt8], limits: SimulatorLimits) throws(ControlError) {
        let members = try ControlFields(body, known: ["receipts", "signed_transactions", "answers"])
        try self.init(
            receipts: members["receipts"]?.texts() ?? [], signed: members["signed_transactions"]?.texts() ?? [],
            answers: members["answers"]?.elements() ?? [], limits: limits)
    }

    /// - Parameter recordedAnswers: answers of verifyReceipt as JSON.
    init(recordedAnswers: [[UInt8]], limits: SimulatorLimits) throws(ControlError) {
        // What is no JSON is no object either, and refused as such.
        let answers = recordedAnswers.enumerated().map { index, json in
            ControlValue(value: (try? JSONValue(parsing: json)) ?? .null, path: "answers[\(index)]")
        }
        try self.init(receipts: [], signed: [], answers: answers, limits: limits)
    }

    private init(
        receipts: [String], signed: [String], answers: [ControlValue], limits: SimulatorLimits
    ) throws(ControlError) {
        guard receipts.count + signed.count + answers.count <= limits.maximumEvidence else {
            throw .tooMuchEvidence(maximum: limits.maximumEvidence)
        }
        self.receipts = receipts
        self.signed = signed
        self.answers = try answers.map(RecordedAnswer.init)
    }
}

extension AccountEvidence {
    struct Registered: Hashable, Sendable {
        /// The number of pieces of evidence.
        let count: Int
        /// The receipts that were issued for recorded answers, in base64.
        let receipts: [String]
    }

    /// Registers all evidence in its order: receipts, signed transactions, answers.
    func register(in store: SimulatedStore, _ call: CallContext) throws(ControlError) -> Registered {
        for (index, receipt) in receipts.enumerated() {
            try Self.register(receipt, "receipts[\(index)]", store, call)
        }
        for (index, jws) in signed.enumerated() {
            try Self.register(jws: jws, "signed_transactions[\(index)]", store, call)
        }
        let issued = try answers.enumerated().map { index, answer throws(ControlError) in
            try Self.register(answer, "answers[\(index)]", store, call)
        }
        return Registered(count: receipts.count + signed.count + answers.count, receipts: issued)
    }

    private static func register(
        _ receipt: String, _ name: String, _ store: SimulatedStore, _ call: CallContext
    ) throws(ControlError) {
        let subject = ReceiptRequest.subject(ofReceipt: receipt, store.verifier, call.now).0
        guard case .genuine(let receipt) = subject else { throw .notGenuine(name) }
        guard store.customers.register(receipt, at: Endpoint(receipt.environment), call).isKept else {
            throw .tooManyAccounts
        }
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

    /// Issues a receipt for a recorded answer, and registers the answer's account. Returns the receipt.
    private static func register(
        _ answer: RecordedAnswer, _ name: String, _ store: SimulatedStore, _ call: CallContext
    ) throws(ControlError) -> String {
        let issued = answer.receipt.base64(signedBy: store.pki)
        let subject = ReceiptRequest.subject(ofReceipt: issued, store.verifier, call.now).0
        guard case .genuine(let receipt) = subject else { throw .notIssuable(name) }
        guard receipt.environment == answer.environment else {
            throw .wrongValue(of: name + ".environment", needed: "the environment of the receipt's type")
        }
        guard store.customers.register(answer.account, with: receipt, at: Endpoint(receipt.environment), call) else {
            throw .tooManyAccounts
        }
        return issued
    }
}

extension AccountEvidence.Registered {
    /// `{"registered": n}`, and with recorded answers `"receipts": [base64…]`.
    var json: ByteBuffer {
        ByteBuffer(json: { json in
            json.member("registered", count)
            if !receipts.isEmpty { json.strings("receipts", receipts) }
        })
    }
}
