// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import JSON
internal import ReceiptForge
internal import Receipts
internal import Synchronization

extension ServerAPI {
    /// Sends a test notification, in version 2 whatever the version of the URL is. It is sent once.
    func testNotification(_ call: APICall) throws(APIError) -> StoreAnswer {
        guard notifications.destination(of: call.app) != nil else { throw .notificationURLNotFound }
        let (uuid, date) = (UUID().uuidString.lowercased(), call.context.now)
        let contents = NotificationContents(NotificationKind("TEST"), of: call.app, uuid: uuid, signedAt: date)
        let entry = NotificationLog.Entry(contents, of: call.app, signedPayload: signer.jws(contents))
        let number = notifications.log.withLock { $0.add(entry) }
        sender.send(NotificationDelivery(app: call.app, body: entry.body, entry: number))
        return .json { $0.member("testNotificationToken", "\(uuid)_\(date.millisecondsSince1970)") }
    }

    /// Returns the attempt of a test notification, once it ended.
    func testNotificationStatus(_ call: APICall) throws(APIError) -> StoreAnswer {
        let parts = call.id.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, UUID(uuidString: String(parts[0])) != nil, let date = Int64(parts[1]) else {
            throw .invalidTestNotificationToken
        }
        let entry = notifications.log.withLock { $0.entry(uuid: String(parts[0]), of: call.app) }
        guard let entry, entry.type == "TEST", entry.signedDate.millisecondsSince1970 == date, !entry.attempts.isEmpty
        else { throw .testNotificationNotFound }
        return .json { write(entry, call, &$0) }
    }

    func notificationHistory(_ call: APICall) throws(APIError) -> StoreAnswer {
        let filter = try NotificationFilter(try call.request.members(), call, customers)
        let start = try Self.start(call.query.first("paginationToken"))
        let page = notifications.log.withLock { log in
            log.page(after: start, count: Self.notificationsPerPage) { $0.app == call.app && filter.admits($0) }
        }
        return .json { json in
            if let next = page.continuation { json.member("paginationToken", "page-\(next)") }
            json.member("hasMore", page.continuation != nil)
            json.objects("notificationHistory", of: page.entries) { write($1, call, &$0) }
        }
    }

    private static let notificationsPerPage = 20

    /// Returns the number of the last notification of the page before.
    private static func start(_ token: String?) throws(APIError) -> Int64 {
        guard let token else { return 0 }
        guard token.hasPrefix("page-"), let number = Int64(token.dropFirst("page-".count)), number > 0,
            number < Int64.max
        else { throw .invalidPaginationToken }
        return number
    }

    private func write(_ entry: NotificationLog.Entry, _ call: APICall, _ json: inout JSONWriter) {
        let isForged = call.fault?.forgesPayloads == true
        json.member("signedPayload", isForged ? ContentsSigner.forged(entry.signedPayload) : entry.signedPayload)
        json.objects("sendAttempts", of: entry.attempts) { json, attempt in
            json.member("attemptDate", attempt.date.millisecondsSince1970)
            json.member("sendAttemptResult", attempt.result.rawValue)
        }
    }
}

/// The parameters of the notification history.
private struct NotificationFilter {
    private let dates: ClosedRange<Int64>
    private let type: String?
    private let subtype: String?
    /// The customer; nil for all.
    private let appTransactionID: String?
    private let onlyFailures: Bool

    init(_ body: JSONValue, _ call: APICall, _ customers: CustomerRegistry) throws(APIError) {
        guard let start = body["startDate"]?.number?.integer else { throw .invalidStartDate }
        guard let end = body["endDate"]?.number?.integer else { throw .invalidEndDate }
        guard start <= end else { throw .startDateAfterEndDate }
        let days: Int64 = call.app.endpoint == .production ? 180 : 30
        guard start >= call.now.advanced(byDays: -days).secondsSince1970 * 1000 else { throw .startDateTooFarInPast }
        (type, subtype) = try Self.kind(body)
        appTransactionID = try body["transactionId"].map { id throws(APIError) in
            guard body["notificationType"] == nil else { throw .multipleFilters }
            guard let id = id.string, ServerAPI.isTransactionID(id) else { throw .invalidTransactionID }
            // Nothing was sent about an unknown customer.
            return customers.customer(withID: id, of: call.app, call.context)?.customer.appTransactionID ?? ""
        }
        dates = start...end
        onlyFailures = body["onlyFailures"]?.bool == true
    }

    /// Reads names of upper-case letters and underscores; a subtype requires a type.
    private static func kind(_ body: JSONValue) throws(APIError) -> (type: String?, subtype: String?) {
        guard let type = body["notificationType"] else {
            guard body["notificationSubtype"] == nil else { throw .invalidNotificationType }
            return (nil, nil)
        }
        let subtype = body["notificationSubtype"]
        for name in [type, subtype ?? type] {
            guard let name = name.string, NotificationKind.isName(name) else { throw .invalidNotificationType }
        }
        return (type.string, subtype?.string)
    }

    func admits(_ entry: NotificationLog.Entry) -> Bool {
        dates.contains(entry.signedDate.millisecondsSince1970) && (type ?? entry.type) == entry.type
            && (subtype == nil || subtype == entry.subtype)
            && (appTransactionID == nil || appTransactionID == entry.appTransactionID)
            && !(onlyFailures && entry.isDelivered)
    }
}
