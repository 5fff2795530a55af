// SPDX-License-Identifier: Apache-2.0

/// The fields of `purchase-info`, which Apple signed. An absent field is nil.
struct PurchaseInfo: Sendable {
    /// The ranges of a name and its value in the signed data.
    struct Field: Sendable {
        let name: TextRange
        let value: TextRange
    }

    /// All fields, in the signed order.
    private(set) var fields: [Field] = []
    private(set) var purchaseDate: Timestamp
    private(set) var originalPurchaseDate: Timestamp?
    private(set) var expiresDate: Timestamp?
    private(set) var cancellationDate: Timestamp?
    private(set) var quantity: Int64?
    private(set) var isTrialPeriod: Bool?
    private(set) var isInIntroOfferPeriod: Bool?

    private static let typicalFieldCount = 24

    /// Reads the property list after the version byte, whose signature must have been verified.
    init(_ content: Span<UInt8>, limits: Limits) throws(ReceiptError) {
        purchaseDate = .earliest
        fields.reserveCapacity(Self.typicalFieldCount)
        var reader = try PropertyListReader(
            content, from: 1, malformed: .purchaseInfoMalformed,
            maximumMembers: limits.maximumTransactionReceiptFields)
        while let member = try reader.next() {
            let isDuplicate = fields.contains { content.equals($0.name.range, member.name) }
            guard !isDuplicate else {
                throw ReceiptError(.purchaseInfoFieldDuplicate, at: .offset(member.name.lowerBound))
            }
            try reader.checkText(member.value)
            fields.append(Field(name: TextRange(member.name), value: TextRange(member.value)))
            guard !member.value.isEmpty, let known = KnownField(content.extracting(member.name)) else { continue }
            try read(known, content, in: member.value)
        }
        for name in ["bid", "product-id", "transaction-id"] as [StaticString] where value(of: name, in: content) == nil
        {
            throw Self.missing(name.description)
        }
        guard purchaseDate != .earliest else { throw Self.missing(KnownField.purchaseDate.rawValue) }
    }

    /// Returns the range of a field's value, by Apple's name. As in app receipts, an empty text means absent.
    func value(of name: StaticString, in content: Span<UInt8>) -> Range<Int>? {
        let field = fields.first { content.extracting($0.name.range).equals(name) && !$0.value.range.isEmpty }
        return field?.value.range
    }

    private mutating func read(_ known: KnownField, _ content: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) {
        switch known {
        case .purchaseDate: purchaseDate = try known.date(content, in: range)
        case .originalPurchaseDate: originalPurchaseDate = try known.date(content, in: range)
        case .expiresDate: expiresDate = try known.date(content, in: range)
        case .cancellationDate: cancellationDate = try known.date(content, in: range)
        case .quantity: quantity = try known.number(content, in: range)
        case .isTrialPeriod: isTrialPeriod = try known.flag(content, in: range)
        case .isInIntroOfferPeriod: isInIntroOfferPeriod = try known.flag(content, in: range)
        }
    }

    private static func missing(_ name: String) -> ReceiptError {
        ReceiptError(.purchaseInfoFieldMissing, at: .claim(name))
    }
}

/// The fields that are no texts, by Apple's names.
private enum KnownField: String, CaseIterable {
    case purchaseDate = "purchase-date-ms"
    case originalPurchaseDate = "original-purchase-date-ms"
    /// Milliseconds, in spite of its name.
    case expiresDate = "expires-date"
    case cancellationDate = "cancellation-date-ms"
    case quantity
    case isTrialPeriod = "is-trial-period"
    case isInIntroOfferPeriod = "is-in-intro-offer-period"

    /// No two names have the same length, so most comparisons end there.
    private static let named = allCases.map { (name: Array($0.rawValue.utf8), field: $0) }

    fileprivate init?(_ name: Span<UInt8>) {
        for (candidate, field) in Self.named where name.equals(candidate) {
            self = field
            return
        }
        return nil
    }

    /// Reads milliseconds since 1970, up to the year 9999.
    fileprivate func date(_ content: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) -> Timestamp {
        let milliseconds = try number(content, in: range)
        guard milliseconds <= Timestamp.latest.millisecondsSince1970 else { throw malformed }
        return Timestamp(millisecondsSince1970: milliseconds)
    }

    /// Reads decimal digits, without a sign.
    fileprivate func number(_ content: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) -> Int64 {
        guard range.count <= Self.maximumDigits,
            let number = content.decimal(at: range.lowerBound, digits: range.count)
        else { throw malformed }
        return Int64(number)
    }

    /// Digits that always fit in 64 bits.
    private static let maximumDigits = 18

    fileprivate func flag(_ content: Span<UInt8>, in range: Range<Int>) throws(ReceiptError) -> Bool {
        let text = content.extracting(range)
        if text.equals("true") { return true }
        if text.equals("false") { return false }
        throw malformed
    }

    private var malformed: ReceiptError {
        ReceiptError(.purchaseInfoFieldMalformed, at: .claim(rawValue))
    }
}
