// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts

/// The stored form of a notification, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// 1 byte   version of the notification: 1 or 2
/// 8 bytes  time of its intake, in milliseconds since 1970
/// rest     the bytes that Apple sent
/// ```
extension NotificationRecord {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter()
        fields.write(Self.storedForm)
        fields.write(version.rawValue)
        fields.write(receivedAt.millisecondsSince1970)
        return fields.bytes + bytes
    }

    init(storedBytes: [UInt8]) throws(DeadLetterReason) {
        var fields = StoredFieldReader(storedBytes)
        do throws(SharedCacheFault) {
            guard try fields.byte() == Self.storedForm else { throw .unreadable }
            let version = Version(rawValue: try fields.byte())
            let receivedAt = Timestamp(millisecondsSince1970: try fields.number())
            guard let version else { throw .unreadable }
            self.init(version, Array(storedBytes.dropFirst(Self.headerBytes)), receivedAt: receivedAt)
        } catch {
            throw .unknownForm
        }
    }

    private static let headerBytes = 10
}

/// The stored form of a signed state, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// 1 byte   kind: 1 transaction, 2 renewal, 4 renewal with a status, 5 renewal whose change of product is a downgrade
/// rest     the fields (`visitStoredFields`), then the status of kinds 4 and 5 (`visitStatus`)
/// ```
/// `advanced_commerce_info` is left out: versions that do not know it could not read the state.
/// In Redis its order precedes the encrypted form, so that a script can compare two states. It is authenticated with it.
extension SignedStateItem {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter(upTo: .usual)
        fields.write(Self.storedForm)
        switch self {
        case .transaction(var transaction):
            fields.write(UInt8(1))
            transaction.visitStoredFields(with: &fields)
        case .renewal(var renewal):
            // Records live for a year: the usual records keep the form that older versions read.
            let kind: UInt8 = renewal.isDowngrade ? 5 : renewal.status == nil ? 2 : 4
            fields.write(kind)
            renewal.visitStoredFields(with: &fields)
            if kind != 2 { renewal.visitStatus(with: &fields) }
        }
        return fields.bytes
    }

    init(storedBytes: [UInt8]) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes)
        guard try fields.byte() == Self.storedForm else { throw .unreadable }
        let kind = try fields.byte()
        switch kind {
        case 1:
            var transaction = Transaction(productID: "", transactionID: "")
            try transaction.visitStoredFields(with: &fields)
            self = .transaction(transaction)
        case 2, 4, 5:
            var renewal = Renewal(originalTransactionID: "")
            try renewal.visitStoredFields(with: &fields)
            if kind != 2 { try renewal.visitStatus(with: &fields) }
            renewal.isDowngrade = kind == 5
            self = .renewal(renewal)
        default: throw .unreadable
        }
        guard fields.isAtEnd else { throw .unreadable }
    }
}

/// Everything about a chain but its signed states. Its stored form, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// 1 byte   kind: 3
/// 8 bytes  revision: the number of the change that wrote it
/// rest     bundle ID, environment, original transaction ID, renamed, the IDs of its events (`visitStoredFields`)
/// ```
struct ChainDetails {
    let chain: PurchaseChain
    let announced: [String]
    let isRenamed: Bool
    let revision: Int64

    private static let storedForm: UInt8 = 1
    private static let kind: UInt8 = 3

    init(_ record: ChainRecord, revision: Int64) {
        (chain, announced, isRenamed) = (record.chain, record.announced, record.isRenamed)
        self.revision = revision
    }

    /// The revision in the place and form of a state's order.
    var order: String {
        let digits = String(revision)
        return String(repeating: "0", count: SignedStateOrder.textBytes - digits.utf8.count) + digits
    }

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter()
        fields.write(Self.storedForm)
        fields.write(Self.kind)
        fields.write(revision)
        var texts: [String]? = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID] + announced
        var isRenamed: Bool? = isRenamed
        fields.texts("", &texts)
        fields.flag("", &isRenamed)
        return fields.bytes
    }

    init(storedBytes: [UInt8]) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes)
        guard try fields.byte() == Self.storedForm, try fields.byte() == Self.kind else { throw .unreadable }
        revision = try fields.number()
        var texts: [String]?, isRenamed: Bool?
        try fields.texts("", &texts)
        try fields.flag("", &isRenamed)
        guard revision >= 0, let texts, texts.count >= 3, let environment = Environment(rawValue: texts[1]),
            fields.isAtEnd
        else { throw .unreadable }
        chain = PurchaseChain(bundleID: texts[0], environment: environment, originalTransactionID: texts[2])
        announced = Array(texts[3...])
        self.isRenamed = isRenamed ?? false
    }
}
