// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
internal import Receipts

extension JobRequest: StoredForm {
    /// The version is 2 for requests with an option that older gateways do not know, and leave to others.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(options.includesUnknown ? 2 : 1, accepted: 1...2)
        try subject.visitForm(&form)
        try options.visitForm(&form)
        try form.list(&chains, of: PurchaseChain(bundleID: "", environment: .production, originalTransactionID: ""))
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
    /// The kinds of subjects, as stored.
    private enum StoredKind: UInt8 {
        case appReceipt = 1, transactionReceipt, jws, signedTransactions, transactionID
    }

    private var storedKind: StoredKind {
        switch self {
        case .evidence(.appReceipt): .appReceipt
        case .evidence(.transactionReceipt): .transactionReceipt
        case .evidence(.jws): .jws
        case .evidence(.signedTransactions): .signedTransactions
        case .transactionID: .transactionID
        }
    }

    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind = storedKind, bytes: [UInt8] = [], id = "", set = SignedTransactions([])
        switch self {
        case .evidence(.appReceipt(let known)), .evidence(.transactionReceipt(let known)), .evidence(.jws(let known)):
            bytes = known
        case .evidence(.signedTransactions(let known)): set = known
        case .transactionID(let known): id = known
        }
        try form.code(&kind)
        switch kind {
        case .appReceipt, .transactionReceipt, .jws: try form.data(&bytes)
        case .signedTransactions: try set.visitForm(&form)
        case .transactionID: try form.string(&id)
        }
        self =
            switch kind {
            case .appReceipt: .evidence(.appReceipt(bytes))
            case .transactionReceipt: .evidence(.transactionReceipt(bytes))
            case .jws: .evidence(.jws(bytes))
            case .signedTransactions: .evidence(.signedTransactions(set))
            case .transactionID: .transactionID(id)
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
        self = PurchaseChain(
            bundleID: bundleID, environment: environment, originalTransactionID: originalTransactionID)
    }
}
