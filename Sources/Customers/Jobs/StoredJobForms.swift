// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import Receipts

extension JobRequest: StoredForm {
    /// The version is 2 for requests with an option that older gateways do not know, and leave to others.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(options.includesUnknown ? 2 : 1, accepted: 1...2)
        try subject.visitForm(&form)
        try options.visitForm(&form)
        try form.list(&chains, of: .blank)
    }

    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(.transactionID(""), JobOptions(), chains: [])
        try read(storedBytes)
    }

    /// The SHA-256 digest of what decides the answer: the subject and the options. Requests of the same identity share
    /// a job, and an `Idempotency-Key` belongs to one identity.
    package var identity: [UInt8] {
        HashFunction.sha256.digest(of: subject.storedBytes + options.storedBytes)
    }
}

extension RequestSubject: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind = kind, bytes: [UInt8] = [], set = SignedTransactions([]), id = ""
        switch self {
        case .evidence(.appReceipt(let known)), .evidence(.transactionReceipt(let known)), .evidence(.jws(let known)):
            bytes = known
        case .evidence(.signedTransactions(let known)): set = known
        case .transactionID(let known): id = known
        }
        try form.code(&kind, of: [.appReceipt, .transactionReceipt, .jws, .signedTransactions, .transactionID])
        switch kind {
        case .appReceipt:
            try form.data(&bytes)
            self = .evidence(.appReceipt(bytes))
        case .transactionReceipt:
            try form.data(&bytes)
            self = .evidence(.transactionReceipt(bytes))
        case .jws:
            try form.data(&bytes)
            self = .evidence(.jws(bytes))
        case .signedTransactions:
            try set.visitForm(&form)
            self = .evidence(.signedTransactions(set))
        case .transactionID:
            try form.string(&id)
            self = .transactionID(id)
        }
    }
}

extension SignedTransactions: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.list(&transactions, of: [])
        try form.list(&renewalInfos, of: [])
        try form.optional(&appTransaction, of: [])
        try form.bit(&acceptsPart)
    }
}

extension JobOptions: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.optional(&expectations.bundleID, of: "")
        try form.optional(&expectations.applicationVersion, of: "")
        try form.optional(&expectations.deviceIdentifier, of: [])
        try form.word(&mode)
        try form.optional(&maximumAge, of: .zero)
        try form.bit(&excludesOldTransactions)
        var additions: UInt8 = (wantsLatestReceipt ? 1 : 0) | (includesUnknown ? 2 : 0), id = account?.id
        try form.byte(&additions)
        if additions > 3 { try form.invalid("additions") }
        (wantsLatestReceipt, includesUnknown) = (additions & 1 != 0, additions & 2 != 0)
        try form.optional(&id, of: "")
        account = id.flatMap { Account($0) }
        if id != nil, account == nil { try form.invalid("account") }
    }
}

extension PurchaseChain: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var bundleID = bundleID, environment = environment, originalTransactionID = originalTransactionID
        try form.string(&bundleID)
        try form.word(&environment)
        try form.string(&originalTransactionID)
        self = PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: originalTransactionID)
    }

    /// The value of a chain before it is read.
    package static let blank = PurchaseChain(bundleID: "", environment: .production, originalTransactionID: "")
}

/// The part of a job that never changes.
package struct JobConstants: Hashable, Sendable, StoredForm {
    package private(set) var client: String
    package private(set) var lane: JobLane
    package private(set) var createdAt: Timestamp
    package private(set) var deadline: Timestamp

    package init(_ job: VerificationJob) {
        (client, lane, createdAt, deadline) = (job.client, job.lane, job.createdAt, job.deadline)
    }

    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        (client, lane, createdAt, deadline) = ("", .production, .earliest, .earliest)
        try read(storedBytes)
    }

    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.string(&client)
        try form.word(&lane)
        try form.time(&createdAt)
        try form.time(&deadline)
    }
}

extension JobResult: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.data(&json)
        try form.string(&verdict)
        try form.optional(&reason, of: "")
        try form.bit(&isDegraded)
        try form.optional(&environment, of: .production)
        try form.optional(&bundleID, of: "")
        try form.list(&originalTransactionIDs, of: "")
    }

    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(json: [], verdict: "")
        try read(storedBytes)
    }
}
