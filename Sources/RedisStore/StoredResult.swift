// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Caching
internal import Entitlements
internal import Gateway
internal import Receipts

/// The stored form of a cached result, before encryption:
///
/// ```
/// 1 byte   version, 7
/// 1 byte   kind: 1 answered, 2 account not found, 3 Apple disagrees, 4 unknown transaction, 5 alias
/// 24 bytes the purge history known before the request to Apple, and the number and name of its last purge
/// 8 bytes  time of Apple's reply, in milliseconds since 1970, by the writer's clock
/// 8 bytes  freshness after that, in milliseconds
/// 8 bytes  duration of the request, in milliseconds
/// 8 bytes  time to live in Redis, in milliseconds
/// 8 bytes  Apple's status code; -1 for none
/// rest     of kind 1: the fields of Apple's answer (`visitStoredFields`), then Apple's JSON unchanged
///          of kind 4: 1 byte reason: 1 not found, 2 ID invalid
///          of kind 5: 1 byte environment: 0 production, 1 sandbox; the original transaction ID
/// ```
/// All numbers are big-endian. The JSON is never parsed again, only passed on to clients that need Apple's original
/// answer.
struct StoredResult: Sendable {
    /// The result, with times by the writer's clock.
    let known: CachedResult
    let retention: Duration
}

enum StoredResultLimits {
    /// The maximum size: a thousand transactions. Larger values would delay other commands on the connection.
    static let bytes = 1 << 20
    /// The maximum difference of the writer's and the reader's clocks. Beyond it, the value counts as an old one that
    /// was restored.
    static let clockDifference: Duration = .seconds(7200)
    static let took: Duration = .seconds(60)
}

extension StoredResult {
    /// The bytes to encrypt; nil if the result is useless to other nodes.
    var bytes: [UInt8]? {
        guard let kind = Kind(known.result) else { return nil }
        var fields = StoredFieldWriter()
        fields.write(Self.version)
        fields.write(kind.rawValue)
        fields.write(Int64(bitPattern: known.purges.history))
        fields.write(Int64(bitPattern: known.purges.number))
        fields.write(Int64(bitPattern: known.purges.name))
        fields.write(known.fetchedAt.millisecondsSince1970)
        fields.write(known.fetchedAt.duration(to: known.freshUntil).wholeMilliseconds)
        fields.write(min(known.took, StoredResultLimits.took).wholeMilliseconds)
        fields.write(retention.wholeMilliseconds)
        fields.write(Int64(known.status ?? Self.noStatus))
        switch known.result {
        case .answered(let answer): fields.write(answer)
        case .unknownTransaction(let reason): fields.write(reason.storedCode)
        case .alias(let alias): fields.write(alias)
        case .accountNotFound, .unanswered: break
        }
        return fields.bytes
    }

    private enum Kind: UInt8 {
        case answered = 1, accountNotFound, disagreement, unknownTransaction, alias

        init?(_ result: UpstreamResult) {
            switch result {
            case .answered: self = .answered
            case .accountNotFound: self = .accountNotFound
            case .unanswered(.upstreamDisagrees): self = .disagreement
            case .unknownTransaction: self = .unknownTransaction
            case .alias(let alias) where alias.isStorable: self = .alias
            case .alias, .unanswered: return nil
            }
        }
    }

    private static let version: UInt8 = 7
    private static let noStatus = -1

    /// Parses decrypted bytes.
    /// - Parameter policy: bounds the accepted times, for each kind of result.
    init(_ bytes: [UInt8], policy: FreshnessPolicy) throws(SharedCacheFault) {
        guard bytes.count <= StoredResultLimits.bytes else { throw .unreadable }
        var fields = StoredFieldReader(bytes)
        guard try fields.byte() == Self.version, let kind = Kind(rawValue: try fields.byte()) else {
            throw .unreadable
        }
        let purges = PurgePosition(
            history: UInt64(bitPattern: try fields.number()), number: UInt64(bitPattern: try fields.number()),
            name: UInt64(bitPattern: try fields.number()))
        let fetchedAt = Timestamp(millisecondsSince1970: try fields.number())
        let freshness = Duration.milliseconds(try fields.number())
        let took = Duration.milliseconds(try fields.number())
        retention = .milliseconds(try fields.number())
        let status = Int(try fields.number())
        let result = try Self.result(kind, &fields)
        guard freshness > .zero, freshness <= policy.longestFreshness(of: result), retention >= freshness,
            retention <= policy.longestRetention(of: result), took >= .zero, took <= StoredResultLimits.took
        else { throw .implausibleTimes }
        known = CachedResult(
            result, status: status == Self.noStatus ? nil : status, fetchedAt: fetchedAt,
            freshUntil: fetchedAt.advanced(by: freshness), took: took, purges: purges)
    }

    private static func result(_ kind: Kind, _ fields: inout StoredFieldReader) throws(SharedCacheFault)
        -> UpstreamResult
    {
        let result: UpstreamResult =
            switch kind {
            case .answered: .answered(try fields.answer())
            case .accountNotFound: .accountNotFound
            case .disagreement: .unanswered(.upstreamDisagrees)
            case .unknownTransaction: .unknownTransaction(try fields.unknownTransaction())
            case .alias: .alias(try fields.alias())
            }
        guard fields.isAtEnd else { throw .unreadable }
        return result
    }
}

extension UnknownTransaction {
    fileprivate var storedCode: UInt8 {
        switch self {
        case .notFound: 1
        case .idInvalid: 2
        }
    }
}

extension TransactionAlias {
    fileprivate var isStorable: Bool { environment.isApples && originalTransactionID.isTransactionID }
}

// The parts of an answer, in the order in which `visitStoredFields` names them. Names are not stored.
//
//     text    4 bytes length + 1, UTF-8; length 0 for nil
//     number  1 byte 1, 8 bytes two's complement; 1 byte 0 for nil
//     flag    1 byte: 0 for nil, 1 false, 2 true
//     list    4 bytes count, then the elements; of texts 4 bytes count + 1, and 0 for nil
//     signed  1 byte: 0 if the fields that only signed items have do not follow, 1 if they do
//
// All big-endian.

extension Transaction {
    /// Visits all fields. The last two are not among those of `visitFields`: the API names and derives its own.
    fileprivate mutating func visitStoredFields<Visitor: FieldVisitor>(
        with visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitFields(with: &visitor)
        var type = productType?.rawValue
        try visitor.code("product_type", &type)
        productType = type.flatMap { ProductType(rawValue: $0) }
        if type != nil, productType == nil { try visitor.invalid("product_type") }
        guard var fields = signedFields?.value else { return }
        try visitor.text("transaction_reason", &fields.transactionReason)
        signedFields = .value(fields)
    }
}

extension Renewal {
    /// Visits all fields, the subscription and product names first.
    fileprivate mutating func visitStoredFields<Visitor: FieldVisitor>(
        with visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitor.required("original_transaction_id", &originalTransactionID)
        try visitor.text("product_id", &productID)
        try visitFields(with: &visitor)
    }
}

struct StoredFieldWriter: FieldVisitor {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func text(_ name: String, _ value: inout String?) { write(value) }

    mutating func count(_ name: String, _ value: inout Int64?) { write(value) }

    mutating func code(_ name: String, _ value: inout Int64?) { write(value) }

    mutating func flag(_ name: String, _ value: inout Bool?) {
        write(UInt8(value.map { $0 ? 2 : 1 } ?? 0))
    }

    mutating func date(_ name: String, _ value: inout Timestamp?) {
        write(value?.millisecondsSince1970)
    }

    mutating func texts(_ name: String, _ value: inout [String]?) {
        write(UInt32(value.map { $0.count + 1 } ?? 0))
        for text in value ?? [] { write(text) }
    }

    mutating func visitsSignedFields(_ arePresent: Bool) -> Bool {
        write(UInt8(arePresent ? 1 : 0))
        return arePresent
    }

    func invalid(_ name: String) {}

    private mutating func write(_ text: String?) {
        write(UInt32(text.map { $0.utf8.count + 1 } ?? 0))
        if let text { bytes += text.utf8 }
    }

    private mutating func write(_ number: Int64?) {
        write(UInt8(number == nil ? 0 : 1))
        if let number { write(number) }
    }

    /// Writes an answer. The receipt that came with it served its check, and is left out.
    mutating func write(_ answer: UpstreamAnswer) {
        write(answer.environment)
        write(Optional(answer.bundleID))
        write(answer.revision)
        write(answer.unfinishedConsumables)
        write(UInt32(answer.transactions.count))
        for var transaction in answer.transactions { transaction.visitStoredFields(with: &self) }
        write(UInt32(answer.renewals.count))
        for var renewal in answer.renewals { renewal.visitStoredFields(with: &self) }
        bytes += answer.body
    }

    private mutating func write(_ unfinished: UnfinishedConsumables) {
        switch unfinished {
        case .notRequested: write(UInt8(0))
        case .unavailable: write(UInt8(1))
        case .known(let ids):
            write(UInt8(2))
            write(UInt32(ids.count))
            for id in ids.sorted() { write(id) }
        }
    }

    mutating func write(_ alias: TransactionAlias) {
        write(alias.environment)
        write(Optional(alias.originalTransactionID))
    }

    private mutating func write(_ environment: Environment) { write(UInt8(environment == .production ? 0 : 1)) }
}

/// Decodes a cached result. Decryption proves the writer, not the content: nothing is read beyond the end, and nothing
/// is allocated for announced sizes.
struct StoredFieldReader: FieldVisitor {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private mutating func take(_ count: Int) throws(SharedCacheFault) -> Range<Int> {
        guard count <= bytes.count - position else { throw .unreadable }
        defer { position += count }
        return position..<position + count
    }

    private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws(SharedCacheFault) -> Number {
        var number: Number = 0
        for index in try take(Number.bitWidth / 8) { number = number << 8 | Number(bytes[index]) }
        return number
    }

    mutating func byte() throws(SharedCacheFault) -> UInt8 {
        bytes[try take(1).lowerBound]
    }

    mutating func number() throws(SharedCacheFault) -> Int64 {
        Int64(bitPattern: try integer(UInt64.self))
    }

    mutating func text(_ name: String, _ value: inout String?) throws(SharedCacheFault) {
        let length = Int(try integer(UInt32.self)) - 1
        guard length >= 0 else { value = nil; return }
        let range = try take(length)
        guard let characters = try? UTF8Span(validating: bytes.span.extracting(range)) else { throw .unreadable }
        value = String(copying: characters)
    }

    mutating func count(_ name: String, _ value: inout Int64?) throws(SharedCacheFault) {
        value = try optionalNumber()
    }

    mutating func code(_ name: String, _ value: inout Int64?) throws(SharedCacheFault) {
        value = try optionalNumber()
    }

    mutating func flag(_ name: String, _ value: inout Bool?) throws(SharedCacheFault) {
        switch try byte() {
        case 0: value = nil
        case 1: value = false
        case 2: value = true
        default: throw .unreadable
        }
    }

    mutating func date(_ name: String, _ value: inout Timestamp?) throws(SharedCacheFault) {
        value = try optionalNumber().map { Timestamp(millisecondsSince1970: $0) }
    }

    mutating func texts(_ name: String, _ value: inout [String]?) throws(SharedCacheFault) {
        let count = Int(try integer(UInt32.self)) - 1
        guard count >= 0 else { value = nil; return }
        var texts: [String] = []
        for _ in 0..<count {
            var text = ""
            try required(name, &text)
            texts.append(text)
        }
        value = texts
    }

    mutating func visitsSignedFields(_ arePresent: Bool) throws(SharedCacheFault) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw .unreadable
        }
    }

    func invalid(_ name: String) throws(SharedCacheFault) { throw .unreadable }

    private mutating func optionalNumber() throws(SharedCacheFault) -> Int64? {
        switch try byte() {
        case 0: return nil
        case 1: return try number()
        default: throw .unreadable
        }
    }

    private mutating func list<Element>(
        of blank: Element, _ pass: (inout Element, inout Self) throws(SharedCacheFault) -> Void
    ) throws(SharedCacheFault) -> [Element] {
        let count = try integer(UInt32.self)
        var elements: [Element] = []
        for _ in 0..<count {
            var element = blank
            try pass(&element, &self)
            elements.append(element)
        }
        return elements
    }

    /// Reads an answer up to the end of the bytes.
    mutating func answer() throws(SharedCacheFault) -> UpstreamAnswer {
        let environment = try environment()
        var bundleID = "", revision: String?
        try required("bundle_id", &bundleID)
        try text("revision", &revision)
        let unfinished = try unfinishedConsumables()
        let transactions = try list(of: Transaction(productID: "", transactionID: "")) {
            (element, fields) throws(SharedCacheFault) in try element.visitStoredFields(with: &fields)
        }
        let renewals = try list(of: Renewal(originalTransactionID: "")) {
            (element, fields) throws(SharedCacheFault) in try element.visitStoredFields(with: &fields)
        }
        var answer = UpstreamAnswer(
            environment: environment, bundleID: bundleID, transactions: transactions, renewals: renewals,
            latestReceipt: nil, body: Array(bytes[try take(bytes.count - position)]), revision: revision)
        answer.unfinishedConsumables = unfinished
        return answer
    }

    private mutating func unfinishedConsumables() throws(SharedCacheFault) -> UnfinishedConsumables {
        switch try byte() {
        case 0: return .notRequested
        case 1: return .unavailable
        case 2:
            let ids = try list(of: "") { (id, fields) throws(SharedCacheFault) in try fields.required("id", &id) }
            return .known(Set(ids))
        default: throw .unreadable
        }
    }

    mutating func unknownTransaction() throws(SharedCacheFault) -> UnknownTransaction {
        let code = try byte()
        guard let reason = UnknownTransaction.allCases.first(where: { $0.storedCode == code }) else {
            throw .unreadable
        }
        return reason
    }

    mutating func alias() throws(SharedCacheFault) -> TransactionAlias {
        var alias = TransactionAlias(originalTransactionID: "", environment: try environment())
        try required("original_transaction_id", &alias.originalTransactionID)
        guard alias.isStorable else { throw .unreadable }
        return alias
    }

    private mutating func environment() throws(SharedCacheFault) -> Environment {
        switch try byte() {
        case 0: return .production
        case 1: return .sandbox
        default: throw .unreadable
        }
    }
}
