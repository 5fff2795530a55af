// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts

// The parts of an answer, in the order in which `visitStoredFields` names them. Names are not stored.
//
//     text    4 bytes length + 1, UTF-8; length 0 for nil
//     number  1 byte 1, 8 bytes two's complement; 1 byte 0 for nil
//     flag    1 byte: 0 for nil, 1 false, 2 true
//     list    4 bytes count, then the elements; of texts 4 bytes count + 1, and 0 for nil
//     signed  1 byte: 0 if the fields that only signed items have do not follow, 1 if they do, 2 if an object does, too
//     object  4 bytes length, JSON
//
// All big-endian.

extension Transaction {
    /// Visits all fields. `visitFields` does not visit the last two: the API names and derives its own values.
    package mutating func visitStoredFields<Visitor: FieldVisitor>(
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
    package mutating func visitStoredFields<Visitor: FieldVisitor>(
        with visitor: inout Visitor
    ) throws(Visitor.Failure) {
        try visitor.required("original_transaction_id", &originalTransactionID)
        try visitor.text("product_id", &productID)
        try visitFields(with: &visitor)
    }
}

package struct StoredFieldWriter: FieldVisitor {
    package private(set) var bytes: [UInt8] = []
    private let widest: SignedExtent

    /// - Parameter widest: the most that is written of the fields that only signed items have.
    package init(upTo widest: SignedExtent = .withCommerce) { self.widest = widest }

    package mutating func write(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    package mutating func text(_ name: StaticString, _ value: inout String?) { write(value) }

    package mutating func count(_ name: StaticString, _ value: inout Int64?) { write(value) }

    package mutating func code(_ name: StaticString, _ value: inout Int64?) { write(value) }

    package mutating func flag(_ name: StaticString, _ value: inout Bool?) {
        write(UInt8(value.map { $0 ? 2 : 1 } ?? 0))
    }

    package mutating func date(_ name: StaticString, _ value: inout Timestamp?) {
        write(value?.millisecondsSince1970)
    }

    package mutating func texts(_ name: StaticString, _ value: inout [String]?) {
        write(UInt32(value.map { $0.count + 1 } ?? 0))
        for text in value ?? [] { write(text) }
    }

    package mutating func object(_ name: StaticString, _ value: inout [UInt8]?) { write(value ?? []) }

    package mutating func visitedFields(_ extent: SignedExtent) -> SignedExtent {
        let written = extent == .withCommerce ? widest : extent
        write(written.rawValue)
        return written
    }

    package func invalid(_ name: StaticString) {}

    package mutating func write(_ text: String?) {
        write(UInt32(text.map { $0.utf8.count + 1 } ?? 0))
        if let text { bytes += text.utf8 }
    }

    /// Writes the number of bytes, and the bytes.
    package mutating func write(_ data: [UInt8]) {
        write(UInt32(data.count))
        bytes += data
    }

    private mutating func write(_ number: Int64?) {
        write(UInt8(number == nil ? 0 : 1))
        if let number { write(number) }
    }

    /// Writes an answer. The receipt that came with it served its check, and is left out.
    package mutating func write(_ answer: UpstreamAnswer) {
        write(answer.environment)
        write(Optional(answer.bundleID))
        write(answer.revision)
        write(answer.unfinishedConsumables)
        write(UInt8(answer.lacksItems ? 1 : 0))
        write(UInt32(answer.transactions.count))
        for var transaction in answer.transactions { transaction.visitStoredFields(with: &self) }
        write(UInt32(answer.renewals.count))
        for var renewal in answer.renewals {
            renewal.visitStoredFields(with: &self)
            renewal.visitStatus(with: &self)
        }
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

    package mutating func write(_ alias: TransactionAlias) {
        write(alias.environment)
        write(Optional(alias.originalTransactionID))
        write(Optional(alias.bundleID))
    }

    package mutating func write(_ environment: Environment) { write(UInt8(environment == .production ? 0 : 1)) }
}

/// Decodes a cached result. Decryption proves the writer, not the content: nothing is read beyond the end, and nothing
/// is allocated for announced sizes.
package struct StoredFieldReader: FieldVisitor {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var isAtEnd: Bool { position == bytes.count }

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

    package mutating func byte() throws(SharedCacheFault) -> UInt8 {
        bytes[try take(1).lowerBound]
    }

    package mutating func number() throws(SharedCacheFault) -> Int64 {
        Int64(bitPattern: try integer(UInt64.self))
    }

    /// Reads a number of bytes, and the bytes.
    package mutating func data() throws(SharedCacheFault) -> [UInt8] {
        let count = Int(try integer(UInt32.self))
        return Array(bytes[try take(count)])
    }

    package mutating func text(_ name: StaticString, _ value: inout String?) throws(SharedCacheFault) {
        let length = Int(try integer(UInt32.self)) - 1
        guard length >= 0 else { value = nil; return }
        let range = try take(length)
        guard let characters = try? UTF8Span(validating: bytes.span.extracting(range)) else { throw .unreadable }
        value = String(copying: characters)
    }

    package mutating func count(_ name: StaticString, _ value: inout Int64?) throws(SharedCacheFault) {
        value = try optionalNumber()
    }

    package mutating func code(_ name: StaticString, _ value: inout Int64?) throws(SharedCacheFault) {
        value = try optionalNumber()
    }

    package mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(SharedCacheFault) {
        switch try byte() {
        case 0: value = nil
        case 1: value = false
        case 2: value = true
        default: throw .unreadable
        }
    }

    package mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(SharedCacheFault) {
        value = try optionalNumber().map { Timestamp(millisecondsSince1970: $0) }
    }

    package mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(SharedCacheFault) {
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

    package mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(SharedCacheFault) {
        guard let object = JSONValue.compactObject(try data()) else { throw .unreadable }
        value = object
    }

    package mutating func visitedFields(_ extent: SignedExtent) throws(SharedCacheFault) -> SignedExtent {
        guard let extent = SignedExtent(rawValue: try byte()) else { throw .unreadable }
        return extent
    }

    package func invalid(_ name: StaticString) throws(SharedCacheFault) { throw .unreadable }

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
    package mutating func answer() throws(SharedCacheFault) -> UpstreamAnswer {
        let environment = try environment()
        var bundleID = "", revision: String?
        try required("bundle_id", &bundleID)
        try text("revision", &revision)
        let unfinished = try unfinishedConsumables(), lacksItems = try byte()
        guard lacksItems <= 1 else { throw .unreadable }
        let transactions = try list(of: Transaction(productID: "", transactionID: "")) {
            (element, fields) throws(SharedCacheFault) in try element.visitStoredFields(with: &fields)
        }
        let renewals = try list(of: Renewal(originalTransactionID: "")) {
            (element, fields) throws(SharedCacheFault) in
            try element.visitStoredFields(with: &fields)
            try element.visitStatus(with: &fields)
        }
        var answer = UpstreamAnswer(
            environment: environment, bundleID: bundleID, transactions: transactions, renewals: renewals,
            latestReceipt: nil, body: Array(bytes[try take(bytes.count - position)]), revision: revision)
        (answer.unfinishedConsumables, answer.lacksItems) = (unfinished, lacksItems == 1)
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

    package mutating func unknownTransaction() throws(SharedCacheFault) -> UnknownTransaction {
        let code = try byte()
        guard let reason = UnknownTransaction.allCases.first(where: { $0.storedCode == code }) else {
            throw .unreadable
        }
        return reason
    }

    package mutating func failure() throws(SharedCacheFault) -> DegradedReason {
        var name = ""
        try required("reason", &name)
        guard let reason = DegradedReason(rawValue: name), reason.facts.isOfEvidence else { throw .unreadable }
        return reason
    }

    package mutating func alias() throws(SharedCacheFault) -> TransactionAlias {
        var alias = TransactionAlias(originalTransactionID: "", environment: try environment(), bundleID: "")
        try required("original_transaction_id", &alias.originalTransactionID)
        try required("bundle_id", &alias.bundleID)
        guard alias.isStorable else { throw .unreadable }
        return alias
    }

    package mutating func environment() throws(SharedCacheFault) -> Environment {
        switch try byte() {
        case 0: return .production
        case 1: return .sandbox
        default: throw .unreadable
        }
    }
}

extension UnknownTransaction {
    package var storedCode: UInt8 {
        switch self {
        case .notFound: 1
        case .idInvalid: 2
        }
    }
}

extension TransactionAlias {
    package var isStorable: Bool { environment.isApples && originalTransactionID.isTransactionID }
}
