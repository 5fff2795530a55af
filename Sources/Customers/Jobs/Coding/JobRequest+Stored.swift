// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import Receipts

extension JobRequest {
    /// The versions of the stored form: 2 for requests with an option that older gateways do not know, and leave to others.
    private static let versions: ClosedRange<UInt8> = 1...2

    /// The stored form, to be encrypted: it has the evidence and the account.
    package var storedBytes: [UInt8] {
        var fields = JobFieldWriter()
        fields.byte(options.includesUnknown ? 2 : 1)
        fields.deciding(self)
        fields.list(chains) { $0.chain($1) }
        return fields.bytes
    }

    package init(storedBytes: [UInt8]) throws(JobFormatFault) {
        var fields = try JobFieldReader(storedBytes, versions: Self.versions)
        let subject = try fields.subject(), options = try fields.options()
        self.init(subject, options, chains: try fields.list { fields throws(JobFormatFault) in try fields.chain() })
        try fields.end()
    }

    /// The SHA-256 digest of what decides the answer: the subject and the options. Requests of the same identity share
    /// a job, and an `Idempotency-Key` belongs to one identity.
    package var identity: [UInt8] {
        var fields = JobFieldWriter()
        fields.deciding(self)
        return HashFunction.sha256.digest(of: fields.bytes)
    }
}

/// The kinds of subjects, as stored.
private enum SubjectCode {
    static let appReceipt: UInt8 = 1
    static let transactionReceipt: UInt8 = 2
    static let jws: UInt8 = 3
    static let signedTransactions: UInt8 = 4
    static let transactionID: UInt8 = 5
}

extension JobFieldWriter {
    fileprivate mutating func deciding(_ request: JobRequest) {
        subject(request.subject)
        options(request.options)
    }

    private mutating func subject(_ subject: RequestSubject) {
        switch subject {
        case .evidence(.appReceipt(let bytes)): coded(SubjectCode.appReceipt, bytes)
        case .evidence(.transactionReceipt(let bytes)): coded(SubjectCode.transactionReceipt, bytes)
        case .evidence(.jws(let bytes)): coded(SubjectCode.jws, bytes)
        case .evidence(.signedTransactions(let set)):
            byte(SubjectCode.signedTransactions)
            signedTransactions(set)
        case .transactionID(let id): coded(SubjectCode.transactionID, Array(id.utf8))
        }
    }

    private mutating func coded(_ code: UInt8, _ bytes: [UInt8]) {
        byte(code)
        data(bytes)
    }

    private mutating func signedTransactions(_ set: SignedTransactions) {
        list(set.transactions) { $0.data($1) }
        list(set.renewalInfos) { $0.data($1) }
        optional(set.appTransaction) { $0.data($1) }
        flag(set.acceptsPart)
    }

    private mutating func options(_ options: JobOptions) {
        optional(options.expectations.bundleID) { $0.text($1) }
        optional(options.expectations.applicationVersion) { $0.text($1) }
        optional(options.expectations.deviceIdentifier) { $0.data($1) }
        text(options.mode.rawValue)
        optional(options.maximumAge) { $0.number($1.wholeMilliseconds) }
        flag(options.excludesOldTransactions)
        byte((options.wantsLatestReceipt ? 1 : 0) | (options.includesUnknown ? 2 : 0))
        optional(options.account) { $0.text($1.id) }
    }

    fileprivate mutating func chain(_ chain: PurchaseChain) {
        text(chain.bundleID)
        text(chain.environment.rawValue)
        text(chain.originalTransactionID)
    }
}

extension JobFieldReader {
    fileprivate mutating func subject() throws(JobFormatFault) -> RequestSubject {
        switch try byte() {
        case SubjectCode.appReceipt: .evidence(.appReceipt(try data()))
        case SubjectCode.transactionReceipt: .evidence(.transactionReceipt(try data()))
        case SubjectCode.jws: .evidence(.jws(try data()))
        case SubjectCode.signedTransactions: .evidence(.signedTransactions(try signedTransactions()))
        case SubjectCode.transactionID: .transactionID(try text())
        default: throw .malformed
        }
    }

    private mutating func signedTransactions() throws(JobFormatFault) -> SignedTransactions {
        let transactions = try list { fields throws(JobFormatFault) in try fields.data() }
        let renewalInfos = try list { fields throws(JobFormatFault) in try fields.data() }
        let appTransaction = try optional { fields throws(JobFormatFault) in try fields.data() }
        return SignedTransactions(
            transactions, renewalInfos: renewalInfos, appTransaction: appTransaction, acceptsPart: try flag())
    }

    fileprivate mutating func options() throws(JobFormatFault) -> JobOptions {
        var options = JobOptions()
        options.expectations.bundleID = try optionalText()
        options.expectations.applicationVersion = try optionalText()
        options.expectations.deviceIdentifier = try optional { fields throws(JobFormatFault) in try fields.data() }
        options.mode = try name(of: Mode.self)
        options.maximumAge = try optional { fields throws(JobFormatFault) in .milliseconds(try fields.number()) }
        options.excludesOldTransactions = try flag()
        let additions = try byte()
        guard additions <= 3 else { throw .malformed }
        (options.wantsLatestReceipt, options.includesUnknown) = (additions & 1 != 0, additions & 2 != 0)
        options.account = try optional { fields throws(JobFormatFault) in try fields.account() }
        return options
    }

    private mutating func account() throws(JobFormatFault) -> Account {
        guard let account = Account(try text()) else { throw .malformed }
        return account
    }

    fileprivate mutating func chain() throws(JobFormatFault) -> PurchaseChain {
        let bundleID = try text(), environment = try name(of: Environment.self)
        return PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: try text())
    }

    mutating func optionalText() throws(JobFormatFault) -> String? {
        try optional { fields throws(JobFormatFault) in try fields.text() }
    }
}
