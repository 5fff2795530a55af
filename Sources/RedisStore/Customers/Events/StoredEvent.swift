// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The stored form of an event, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// text     ID
/// text     type
/// 1 byte   environment: 0 production, 1 sandbox
/// text     original transaction ID, or nil
/// 8 bytes  time of the change, in milliseconds since 1970
/// 4 bytes  length of the JSON, and the JSON
/// 4 bytes  length of what Apple signed, and that
/// ```
/// The app is the partition's app.
extension Event {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter()
        fields.write(Self.storedForm)
        fields.write(Optional(id))
        fields.write(Optional(type.rawValue))
        fields.write(environment)
        fields.write(originalTransactionID)
        fields.write(occurredAt.millisecondsSince1970)
        fields.write(json)
        fields.write(signedData)
        return fields.bytes
    }

    init(storedBytes: [UInt8], bundleID: String) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes)
        guard try fields.byte() == Self.storedForm else { throw .unreadable }
        var id = "", type = "", originalTransactionID: String?
        try fields.required("id", &id)
        try fields.required("type", &type)
        let environment = try fields.environment()
        try fields.text("original_transaction_id", &originalTransactionID)
        let occurredAt = Timestamp(millisecondsSince1970: try fields.number())
        self.init(
            // A newer version may have more types; its JSON says which type it is.
            id: id, type: EventType(rawValue: type) ?? .unknown, bundleID: bundleID, environment: environment,
            originalTransactionID: originalTransactionID, occurredAt: occurredAt, json: try fields.data(),
            signedData: try fields.data())
        guard fields.isAtEnd else { throw .unreadable }
    }

    /// Returns the encrypted form for the log of its partition.
    func sealed(_ keys: NotificationKeys, _ seal: StoreSeal) -> RedisWord {
        RedisWord(seal.seal(storedBytes, for: keys.sealedEventName))
    }

    init(sealed: [UInt8], _ keys: NotificationKeys, _ seal: StoreSeal, bundleID: String) throws(SharedCacheFault) {
        try self.init(storedBytes: try seal.open(sealed, for: keys.sealedEventName), bundleID: bundleID)
    }
}
