// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// Writes or reads the parts of an answer, one after another: what is to be stored is listed once, in one order, for
/// both ways.
///
/// ```
/// text    4 bytes length + 1, UTF-8; length 0 for nil
/// number  1 byte 1, 8 bytes two's complement; 1 byte 0 for nil
/// flag    1 byte: 0 for nil, 1 false, 2 true
/// list    4 bytes count, then the elements
/// ```
/// All big-endian.
protocol StoredFields {
    mutating func text(_ value: inout String?) throws(SharedCacheFault)
    mutating func number(_ value: inout Int64?) throws(SharedCacheFault)
    mutating func flag(_ value: inout Bool?) throws(SharedCacheFault)
}

extension StoredFields {
    /// A text that is always there.
    fileprivate mutating func text(_ value: inout String) throws(SharedCacheFault) {
        var optional: String? = value
        try text(&optional)
        guard let optional else { throw .unreadable }
        value = optional
    }

    /// A flag that is always there.
    fileprivate mutating func flag(_ value: inout Bool) throws(SharedCacheFault) {
        var optional: Bool? = value
        try flag(&optional)
        guard let optional else { throw .unreadable }
        value = optional
    }

    fileprivate mutating func time(_ value: inout Timestamp?) throws(SharedCacheFault) {
        var milliseconds = value?.millisecondsSince1970
        try number(&milliseconds)
        value = milliseconds.map { Timestamp(millisecondsSince1970: $0) }
    }

    /// One of a few, by the text or number that stands for it.
    fileprivate mutating func named<Case: RawRepresentable<String>>(
        _ value: inout Case?
    ) throws(SharedCacheFault) {
        var name = value?.rawValue
        try text(&name)
        value = name.flatMap { Case(rawValue: $0) }
        guard (name == nil) == (value == nil) else { throw .unreadable }
    }
}

extension Transaction {
    /// Everything that Apple tells of one. What kind of product it is, only receipts tell.
    fileprivate mutating func pass(_ fields: inout some StoredFields) throws(SharedCacheFault) {
        try fields.text(&productID)
        try fields.text(&transactionID)
        try fields.text(&originalTransactionID)
        try fields.time(&purchaseDate)
        try fields.time(&originalPurchaseDate)
        try fields.time(&expiresDate)
        try fields.time(&cancellationDate)
        try fields.number(&cancellationReason)
        try fields.flag(&isUpgraded)
        try fields.flag(&isTrialPeriod)
        try fields.flag(&isInIntroOfferPeriod)
        try fields.named(&ownership)
        try fields.text(&subscriptionGroupID)
        try fields.text(&promotionalOfferID)
        try fields.text(&offerCodeName)
        try fields.text(&appAccountToken)
        try fields.number(&quantity)
        try fields.text(&webOrderLineItemID)
    }
}

extension Renewal {
    fileprivate mutating func pass(_ fields: inout some StoredFields) throws(SharedCacheFault) {
        try fields.text(&originalTransactionID)
        try fields.text(&productID)
        try fields.text(&renewalProductID)
        try fields.flag(&willRenew)
        var intent = expirationIntent.map { Int64($0.rawValue) }
        try fields.number(&intent)
        expirationIntent = intent.flatMap { Int(exactly: $0) }.flatMap { ExpirationIntent(rawValue: $0) }
        guard (intent == nil) == (expirationIntent == nil) else { throw .unreadable }
        try fields.flag(&isInBillingRetry)
        try fields.time(&gracePeriodExpiresDate)
        var hasConsented = priceConsent.map { $0 == .given }
        try fields.flag(&hasConsented)
        priceConsent = hasConsented.map { $0 ? .given : .pending }
        try fields.text(&promotionalOfferID)
        try fields.text(&offerCodeName)
    }
}

// MARK: - Writing

/// Appends to the bytes of a finding.
struct StoredFieldWriter: StoredFields {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func text(_ value: inout String?) {
        write(UInt32(value.map { $0.utf8.count + 1 } ?? 0))
        if let value { bytes += value.utf8 }
    }

    mutating func number(_ value: inout Int64?) {
        write(UInt8(value == nil ? 0 : 1))
        if let value { write(value) }
    }

    mutating func flag(_ value: inout Bool?) {
        write(UInt8(value.map { $0 ? 2 : 1 } ?? 0))
    }

    /// The receipt that came with the answer has done its work when the answer was checked, and is left out.
    mutating func write(_ answer: UpstreamAnswer) {
        write(UInt8(answer.environment == .production ? 0 : 1))
        var bundleID: String? = answer.bundleID
        text(&bundleID)
        write(UInt32(answer.transactions.count))
        // Writing throws nothing: what is there can be written.
        for var transaction in answer.transactions { try? transaction.pass(&self) }
        write(UInt32(answer.renewals.count))
        for var renewal in answer.renewals { try? renewal.pass(&self) }
        bytes += answer.body
    }
}

// MARK: - Reading

/// Reads the bytes of a finding from front to back. That they were sealed says who wrote them, not that they are right:
/// nothing is read beyond their end, and nothing is allocated for what is only announced.
struct StoredFieldReader: StoredFields {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    /// The next so many bytes.
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

    mutating func text(_ value: inout String?) throws(SharedCacheFault) {
        let length = Int(try integer(UInt32.self)) - 1
        guard length >= 0 else { value = nil; return }
        let range = try take(length)
        guard let characters = try? UTF8Span(validating: bytes.span.extracting(range)) else { throw .unreadable }
        value = String(copying: characters)
    }

    mutating func number(_ value: inout Int64?) throws(SharedCacheFault) {
        switch try byte() {
        case 0: value = nil
        case 1: value = try number()
        default: throw .unreadable
        }
    }

    mutating func flag(_ value: inout Bool?) throws(SharedCacheFault) {
        switch try byte() {
        case 0: value = nil
        case 1: value = false
        case 2: value = true
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

    /// The answer, up to the end of the bytes.
    mutating func answer() throws(SharedCacheFault) -> UpstreamAnswer {
        let environment: Environment
        switch try byte() {
        case 0: environment = .production
        case 1: environment = .sandbox
        default: throw .unreadable
        }
        var bundleID = ""
        try text(&bundleID)
        let transactions = try list(of: Transaction(productID: "", transactionID: "")) {
            (element, fields) throws(SharedCacheFault) in try element.pass(&fields)
        }
        let renewals = try list(of: Renewal(originalTransactionID: "")) {
            (element, fields) throws(SharedCacheFault) in try element.pass(&fields)
        }
        return UpstreamAnswer(
            environment: environment, bundleID: bundleID, transactions: transactions, renewals: renewals,
            latestReceipt: nil, body: Array(bytes[try take(bytes.count - position)]))
    }
}
