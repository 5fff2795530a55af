// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON

/// The JSON body of `POST /v1/verify`. Every fault names the field, the broken rule and the position.
struct VerifyRequestBody: Sendable {
    private(set) var subject = SubjectTexts.receipt(.decoded([]))
    /// `device_identifier`: the expected device, as sent.
    private(set) var deviceIdentifier: JSONText?
    private(set) var options = VerificationOptions()

    // The fields of the subject.
    private var receipt: Base64Text?
    private var transactions: [JSONText]?
    private var renewalInfos: [JSONText]?
    private var appTransaction: JSONText?
    private var partial: Bool?
    private var transactionID: String?

    /// The subject of a body: exactly one of these.
    enum SubjectTexts: Sendable {
        /// An ID instead of evidence.
        case transactionID(String)
        /// The base64 of an app receipt or a transaction receipt, or one JWS.
        case receipt(Base64Text)
        case signedTransactions(SignedTexts)
    }

    struct SignedTexts: Sendable {
        let transactions: [JSONText]
        let renewalInfos: [JSONText]
        let appTransaction: JSONText?
        let acceptsPart: Bool
    }

    enum Field: String, CaseIterable, Hashable, Sendable {
        case receipt
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appTransaction = "app_transaction"
        case partial
        case transactionID = "transaction_id"
        case bundleID = "bundle_id"
        case mode
        case maximumAge = "max_age"
        case excludesOldTransactions = "exclude_old_transactions"
        case latestReceipt = "latest_receipt"
        case include
        case appVersion = "app_version"
        case deviceIdentifier = "device_identifier"
        case account
    }

    enum Limits {
        /// A year, in seconds; the gateway keeps nothing longer.
        static let maximumAgeSeconds: Int64 = 31_536_000
        /// The maximum number of transactions in one request, and of renewal infos.
        static let signedItems = 200
    }

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        let seen = try reader.fields(misnamed: Self.misnamed) { (field, reader) throws(JSONFault) in
            try read(field, from: &reader)
        }
        subject = try subject(among: seen, at: reader.position)
        if case .transactionID = subject, options.expectations.bundleID?.isBundleID == false {
            throw JSONFault(.notAccepted("a bundle ID"), field: Field.bundleID.rawValue, at: reader.position)
        }
    }

    /// - Parameter seen: the fields of the body.
    /// - Throws: `JSONFault` unless there is a subject of exactly one kind, with the fields that belong to it.
    private func subject(among seen: Set<Field>, at position: Int) throws(JSONFault) -> SubjectTexts {
        func fault(_ rule: JSONFault.Rule, _ field: Field) -> JSONFault {
            JSONFault(rule, field: field.rawValue, at: position)
        }
        if let transactionID {
            for field in Field.ofEvidence where seen.contains(field) {
                throw fault(.notAccepted("absent beside \"transaction_id\""), field)
            }
            return .transactionID(transactionID)
        }
        guard let transactions else {
            guard let receipt else {
                throw fault(.missingAlternative(#"or "signed_transactions", or "transaction_id""#), .receipt)
            }
            for field in [Field.signedRenewalInfos, .appTransaction, .partial] where seen.contains(field) {
                throw fault(.notAccepted("sent together with \"signed_transactions\""), field)
            }
            return .receipt(receipt)
        }
        guard receipt == nil else { throw fault(.notAccepted("absent beside \"signed_transactions\""), .receipt) }
        guard !transactions.isEmpty || appTransaction != nil else {
            throw fault(
                .notAccepted("a list of at least one signed transaction, unless \"app_transaction\" is sent"),
                .signedTransactions)
        }
        return .signedTransactions(
            SignedTexts(
                transactions: transactions, renewalInfos: renewalInfos ?? [], appTransaction: appTransaction,
                acceptsPart: partial ?? false))
    }

    /// The names that other interfaces have for a field.
    private static let misnamed: [String: Field] = [
        "receipt-data": .receipt, "receipt_data": .receipt, "receiptData": .receipt,
        "exclude-old-transactions": .excludesOldTransactions, "signedTransactions": .signedTransactions,
        "signedTransactionInfo": .signedTransactions, "signed_transaction": .signedTransactions,
        "signedRenewalInfo": .signedRenewalInfos, "signedAppTransactionInfo": .appTransaction,
        "transactionId": .transactionID, "bundleId": .bundleID, "appAccountToken": .account,
    ]

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        switch field {
        case .receipt: receipt = try reader.base64(unless: JSONText.mayBeJWS)
        case .signedTransactions: transactions = try reader.strings(maximumCount: Limits.signedItems)
        case .signedRenewalInfos: renewalInfos = try reader.strings(maximumCount: Limits.signedItems)
        case .appTransaction: appTransaction = try reader.string()
        case .partial: partial = try reader.boolean()
        case .transactionID: transactionID = try reader.transactionID()
        case .bundleID: options.expectations.bundleID = try reader.shortText()
        case .mode: options.mode = try reader.mode()
        case .maximumAge: options.maximumAge = try reader.age()
        case .excludesOldTransactions: options.excludesOldTransactions = try reader.boolean()
        case .latestReceipt: options.wantsLatestReceipt = try reader.boolean()
        case .include: options.includesUnknown = try reader.includesUnknown()
        case .appVersion: options.expectations.applicationVersion = try reader.shortText()
        case .deviceIdentifier: deviceIdentifier = try reader.shortString()
        case .account: options.account = try reader.account()
        }
    }
}

extension VerifyRequestBody.Field {
    fileprivate static let ofEvidence: [Self] = [
        .receipt, .signedTransactions, .signedRenewalInfos, .appTransaction, .partial, .latestReceipt, .appVersion,
        .deviceIdentifier,
    ]
}

extension JSONReader {
    fileprivate mutating func shortText() throws(JSONFault) -> String {
        let start = position
        let text = try text()
        if text.isEmpty { throw JSONFault(.notAccepted("a non-empty text"), at: start) }
        return text
    }

    fileprivate mutating func transactionID() throws(JSONFault) -> String {
        let start = position
        let id = try shortText()
        guard id.isTransactionID else { throw JSONFault(.notAccepted(TransactionIDForm.description), at: start) }
        return id
    }

    /// Reads a string within the length of texts, and leaves it in the body.
    fileprivate mutating func shortString() throws(JSONFault) -> JSONText {
        let start = position
        let text = try string()
        guard text.range.count <= Self.maximumTextBytes else {
            throw JSONFault(.notAccepted("at most \(Self.maximumTextBytes) bytes long"), at: start)
        }
        return text
    }

    fileprivate mutating func account() throws(JSONFault) -> Account {
        let start = position
        let text = try value(of: try string(), maximumBytes: Account.Limits.bytes)
        guard let account = Account(text) else {
            throw JSONFault(.notAccepted("1 to \(Account.Limits.bytes) bytes long"), at: start)
        }
        return account
    }

    /// Reads a list that may have one name.
    fileprivate mutating func includesUnknown() throws(JSONFault) -> Bool {
        let start = position
        let names = try strings(maximumCount: 1)
        for name in names where try value(of: name, maximumBytes: Self.maximumTextBytes) != "unknown" {
            throw JSONFault(.notAccepted("[\"unknown\"] or []"), at: start)
        }
        return !names.isEmpty
    }

    fileprivate mutating func mode() throws(JSONFault) -> Mode {
        let start = position
        guard let mode = Mode(rawValue: try shortText()), mode != .appleFirst else {
            throw JSONFault(.notAccepted("\"auto\", \"local\" or \"apple\""), at: start)
        }
        return mode
    }

    fileprivate mutating func age() throws(JSONFault) -> Duration {
        let start = position
        let range = 0...VerifyRequestBody.Limits.maximumAgeSeconds
        let seconds = try integer()
        guard range.contains(seconds) else {
            throw JSONFault(.notAccepted("between 0 and \(range.upperBound) seconds"), at: start)
        }
        return .seconds(seconds)
    }
}
