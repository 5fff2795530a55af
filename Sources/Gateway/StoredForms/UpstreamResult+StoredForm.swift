// SPDX-License-Identifier: Apache-2.0

package import Receipts

extension Transaction: StoredForm {
    /// Visits all fields. `visitFields` does not visit the last two: the API names and derives its own values.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try visitFields(with: &form)
        var type = productType?.rawValue
        try form.code("product_type", &type)
        productType = type.flatMap { ProductType(rawValue: $0) }
        if type != nil, productType == nil { try form.invalid("product_type") }
        guard var fields = signedFields?.value else { return }
        try form.text("transaction_reason", &fields.transactionReason)
        signedFields = .value(fields)
    }

    package static let blank = Transaction(productID: "", transactionID: "")
}

extension Renewal: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try visitPlan(&form)
        try visitStatus(with: &form)
    }

    /// Visits all fields but the status, the subscription and product names first.
    package mutating func visitPlan<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.required("original_transaction_id", &originalTransactionID)
        try form.text("product_id", &productID)
        try visitFields(with: &form)
    }

    package static let blank = Renewal(originalTransactionID: "")
}

extension UpstreamAnswer: StoredForm {
    /// The receipt that came with the answer served its check, and is left out.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.environment(&environment)
        try form.text(&bundleID)
        try form.text(&revision)
        try unfinishedConsumables.visitForm(&form)
        try form.bit(&lacksItems)
        try form.list(&transactions, of: .blank)
        try form.list(&renewals, of: .blank)
        try form.rest(&body)
    }

    fileprivate static let blank = UpstreamAnswer(
        environment: .production, bundleID: "", transactions: [], renewals: [], latestReceipt: nil, body: [])
}

/// An ID in an answer.
private struct StoredID: StoredForm {
    var id: String

    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) { try form.text(&id) }
}

extension UnfinishedConsumables: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind: UInt8
        var ids: [StoredID] = []
        switch self {
        case .notRequested: kind = 0
        case .unavailable: kind = 1
        case .known(let known): (kind, ids) = (2, known.sorted().map(StoredID.init))
        }
        try form.byte(&kind)
        switch kind {
        case 0: self = .notRequested
        case 1: self = .unavailable
        case 2:
            try form.list(&ids, of: StoredID(id: ""))
            self = .known(Set(ids.map(\.id)))
        default: try form.invalid("unfinished_consumables")
        }
    }
}

extension TransactionAlias: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.environment(&environment)
        try form.text(&originalTransactionID)
        try form.text(&bundleID)
        if !isStorable { try form.invalid("alias") }
    }

    fileprivate var isStorable: Bool { environment.isApples && originalTransactionID.isTransactionID }
}

extension UpstreamResult {
    enum StoredKind: UInt8 {
        case answered = 1, accountNotFound, failure, unknownTransaction, alias
    }

    /// Nil if the result is useless to other nodes.
    var storedKind: StoredKind? {
        switch self {
        case .answered: .answered
        case .accountNotFound: .accountNotFound
        case .unanswered(let reason): reason.facts.isOfEvidence ? .failure : nil
        case .unknownTransaction: .unknownTransaction
        case .alias(let alias): alias.isStorable ? .alias : nil
        }
    }

    /// Visits the contents of a result of this kind.
    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form, of kind: StoredKind) throws(Form.Failure) {
        switch kind {
        case .answered:
            var answer = UpstreamAnswer.blank
            if case .answered(let known) = self { answer = known }
            try answer.visitForm(&form)
            self = .answered(answer)
        case .accountNotFound: self = .accountNotFound
        case .failure:
            var name = ""
            if case .unanswered(let reason) = self { name = reason.rawValue }
            try form.text(&name)
            guard let reason = DegradedReason(rawValue: name), reason.facts.isOfEvidence else {
                return try form.invalid("reason")
            }
            self = .unanswered(reason)
        case .unknownTransaction:
            var reason = UnknownTransaction.notFound
            if case .unknownTransaction(let known) = self { reason = known }
            try form.code(&reason, of: [.notFound, .idInvalid])
            self = .unknownTransaction(reason)
        case .alias:
            var alias = TransactionAlias(originalTransactionID: "", environment: .production, bundleID: "")
            if case .alias(let known) = self { alias = known }
            try alias.visitForm(&form)
            self = .alias(alias)
        }
    }
}
