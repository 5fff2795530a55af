// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
package import Receipts
internal import Redis

extension Event: StoredForm {
    /// Visits all fields but the app, which is the partition's app.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        // A newer version may have more types; its JSON says which type it is.
        var type = type.rawValue
        try form.version(1)
        try form.text(&id)
        try form.text(&type)
        try form.environment(&environment)
        try form.text(&originalTransactionID)
        try form.time(&occurredAt)
        try form.data(&json)
        try form.data(&signedData)
        self.type = EventType(rawValue: type) ?? .unknown
    }

    init(storedBytes: [UInt8], bundleID: String) throws(StoredFormFault) {
        self.init(
            id: "", type: .unknown, bundleID: bundleID, environment: .production, originalTransactionID: nil,
            occurredAt: .earliest, json: [])
        try read(storedBytes)
    }

    /// Returns the encrypted form for the log of its partition.
    func sealed(_ keys: NotificationKeys, _ seal: StoreSeal) -> RedisWord {
        RedisWord(seal.seal(storedBytes, for: keys.sealedEventName))
    }

    init(sealed: [UInt8], _ keys: NotificationKeys, _ seal: StoreSeal, bundleID: String) throws(SharedCacheFault) {
        let bytes = try seal.open(sealed, for: keys.sealedEventName)
        guard let event = try? Event(storedBytes: bytes, bundleID: bundleID) else { throw .unreadable }
        self = event
    }
}
