// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
package import Receipts

extension NotificationRecord: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.code(&version)
        try form.time(&receivedAt)
        try form.rest(&bytes)
    }

    init(storedBytes: [UInt8]) throws(DeadLetterReason) {
        self.init(.v2, [], receivedAt: .earliest)
        do throws(StoredFormFault) { try read(storedBytes) } catch { throw .unknownForm }
    }
}

/// In Redis its order precedes the encrypted form, so that a script can compare two states. It is authenticated with it.
extension SignedStateItem: StoredForm {
    /// The kinds of states, as stored. Records live for a year: the usual records keep the form that older versions read.
    private enum StoredKind: UInt8 {
        case transaction = 1
        case renewal = 2
        case renewalWithStatus = 4
        /// Also with a status. The change of product is a downgrade.
        case downgrade = 5
    }

    private var storedKind: StoredKind {
        switch self {
        case .transaction: .transaction
        case .renewal(let renewal):
            renewal.isDowngrade ? .downgrade : renewal.status == nil ? .renewal : .renewalWithStatus
        }
    }

    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind = storedKind
        try form.version(1)
        try form.code(&kind)
        if kind == .transaction {
            var transaction = Transaction.blank
            if case .transaction(let known) = self { transaction = known }
            try transaction.visitForm(&form)
            self = .transaction(transaction)
        } else {
            var renewal = Renewal.blank
            if case .renewal(let known) = self { renewal = known }
            try renewal.visitPlan(&form)
            if kind != .renewal { try renewal.visitStatus(with: &form) }
            renewal.isDowngrade = kind == .downgrade
            self = .renewal(renewal)
        }
    }

    /// The stored form, without `advanced_commerce_info`: versions that do not know it could not read the state.
    var storedBytes: [UInt8] { storedBytes(upTo: .usual) }

    init(storedBytes: [UInt8]) throws(StoredFormFault) {
        self = .transaction(.blank)
        try read(storedBytes)
    }
}

/// Everything about a chain but its signed states.
struct ChainDetails: StoredForm {
    private(set) var chain: PurchaseChain
    private(set) var announced: [String]
    private(set) var isRenamed: Bool
    /// The number of the change that wrote it.
    private(set) var revision: Int64

    private enum StoredKind: UInt8 {
        case details = 3
    }

    init(_ record: ChainRecord, revision: Int64) {
        (chain, announced, isRenamed) = (record.chain, record.announced, record.isRenamed)
        self.revision = revision
    }

    /// The revision in the place and form of a state's order.
    var order: String {
        let digits = String(revision)
        return String(repeating: "0", count: SignedStateOrder.textBytes - digits.utf8.count) + digits
    }

    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind = StoredKind.details, isRenamed: Bool? = isRenamed
        var texts: [String]? = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID] + announced
        try form.version(1)
        try form.code(&kind)
        try form.number(&revision)
        try form.texts("texts", &texts)
        try form.flag("is_renamed", &isRenamed)
        guard revision >= 0, let texts, texts.count >= 3, let environment = Environment(rawValue: texts[1]) else {
            return try form.invalid("details")
        }
        chain = PurchaseChain(bundleID: texts[0], environment: environment, originalTransactionID: texts[2])
        (announced, self.isRenamed) = (Array(texts[3...]), isRenamed ?? false)
    }

    init(storedBytes: [UInt8]) throws(StoredFormFault) {
        (chain, announced, isRenamed, revision) = (.blank, [], false, 0)
        try read(storedBytes)
    }
}
