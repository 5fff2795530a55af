// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import JSON
internal import Receipts

/// The body of a notification, by the version that its members show.
package enum NotificationBody: Sendable {
    /// `{"signedPayload": "…"}` (App Store Server Notifications V2, `responseBodyV2`): the JWS.
    case v2([UInt8])
    case v1(NotificationV1)

    var version: NotificationRecord.Version {
        switch self {
        case .v1: .v1
        case .v2: .v2
        }
    }

    package enum Limits {
        /// The maximum size of a body of version 2. Apple's have about 20 KB.
        package static let v2Bytes = 256 << 10
        /// The maximum size of a body of version 1, which has a receipt and its transactions.
        package static let v1Bytes = 4 << 20
        /// The maximum length of a type of version 1. Apple's longest has 30 characters.
        static let typeBytes = 64
        /// The bytes around the payload of version 2. Apple's bodies have about 20.
        static let paddingBytes = 1024
        /// 100 transactions with 30 members each are usual.
        static let json = JSONValue.Limits(bytes: v1Bytes, depth: 8, values: 20_000)
    }

    /// Returns true for a body of version 2 that is much larger than Apple's would be.
    func isPadded(in body: [UInt8]) -> Bool {
        guard case .v2(let jws) = self else { return false }
        return body.count - jws.count > Limits.paddingBytes
    }

    package init(_ body: [UInt8]) throws(NotificationRejection) {
        let json: JSONValue
        do throws(JSONFault) {
            json = try JSONValue(parsing: body, limits: Limits.json)
        } catch {
            throw .malformed(error)
        }
        if let payload = json["signedPayload"]?.string {
            guard body.count <= Limits.v2Bytes else { throw .tooLarge(maximumBytes: Limits.v2Bytes) }
            self = .v2(Array(payload.utf8))
        } else if let notification = NotificationV1(json) {
            self = .v1(notification)
        } else {
            throw .unknownForm
        }
    }

    /// Returns a body as Apple posts it, for a notification of Apple's history.
    static func json(signedPayload jws: [UInt8]) -> [UInt8] {
        JSONWriter.object { $0.member("signedPayload", String(decoding: jws, as: UTF8.self)) }
    }
}

/// The members of a notification of version 1 (App Store Server Notifications V1, `responseBodyV1`) that the gateway
/// reads. Only the receipt is signed.
package struct NotificationV1: Sendable, Redacted {
    /// Such as `DID_RENEW`.
    let notificationType: String
    let bundleID: String
    let password: Secret
    /// The newest receipt after base64 is removed; nil without a receipt.
    let latestReceipt: String?
    let originalTransactionID: String?
    /// The members in which two notifications of one type and transaction differ.
    private let changes: [String]
    private static let changing = ["auto_renew_status", "auto_renew_status_change_date_ms", "auto_renew_product_id"]

    init?(_ json: JSONValue) {
        let read =
            [json["original_transaction_id"], json["unified_receipt"]?["latest_receipt"]]
            + Self.changing.map { json[$0] }
        // A text that the JSON reader does not return is not an absent text.
        guard !read.contains(where: { $0?.type == .string && $0?.string == nil }) else { return nil }
        guard let type = json["notification_type"]?.string, Self.isType(type), let bundleID = json["bid"]?.string,
            let password = json["password"]?.string
        else { return nil }
        notificationType = type
        self.bundleID = bundleID
        self.password = Secret(password)
        latestReceipt = json["unified_receipt"]?["latest_receipt"]?.string
        originalTransactionID = json["original_transaction_id"]?.idText
        changes = Self.changing.map { json[$0]?.idText ?? "" }
    }

    private static func isType(_ text: String) -> Bool {
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z"), digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return (1...NotificationBody.Limits.typeBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_") }
    }

    /// Returns the notification's identity. Apple gives it none, and a repetition has a receipt with other bytes, so it
    /// is made of the type and of the purchases it is about.
    /// - Parameter chain: the transactions with its original transaction ID, in any order.
    func identity(_ chain: [Transaction]) -> NotificationIdentity {
        let purchases = chain.map { transaction in
            [transaction.expiresDate, transaction.cancellationDate].reduce(transaction.transactionID) {
                "\($0) \($1?.millisecondsSince1970 ?? 0)"
            }
        }
        return NotificationIdentity(
            v1: [bundleID, notificationType, originalTransactionID ?? ""] + changes + purchases.sorted())
    }
}

extension JSONValue {
    /// A string, a number or a flag as text.
    fileprivate var idText: String? {
        switch content {
        case .string(let text): text.string
        case .number(let number): number.text
        case .bool(let flag): "\(flag)"
        case .null, .array, .object: nil
        }
    }
}
