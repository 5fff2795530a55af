// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import JSON
internal import ReceiptForge
internal import Receipts
internal import Synchronization

extension ServerAPI {
    func testNotification(_ call: APICall) -> APIAnswer {
        let uuid = UUID().uuidString.lowercased()
        let entry = TestNotifications.Entry(of: call.app, uuid: uuid, at: call.context.now)
        notifications.withLock { $0.add(entry) }
        return .json { $0.member("testNotificationToken", entry.token) }
    }

    func testNotificationStatus(_ call: APICall) throws(APIError) -> APIAnswer {
        let parts = call.id.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, UUID(uuidString: String(parts[0])) != nil, Int64(parts[1]) != nil else {
            throw .invalidTestNotificationToken
        }
        guard let entry = notifications.withLock({ $0.entry(call.id, of: call.app) }) else {
            throw .testNotificationNotFound
        }
        return .json { write(entry, call, &$0) }
    }

    /// Returns the test notifications of the app: no other notification is sent.
    func notificationHistory(_ call: APICall) throws(APIError) -> APIAnswer {
        let filter = try NotificationFilter(try call.request.members(), call)
        let offset = try Self.offset(call.query.first("paginationToken"))
        let sent = notifications.withLock { $0.entries }.filter { $0.app == call.app && filter.admits($0) }
        guard offset <= sent.count else { throw .invalidPaginationToken }
        let page = sent.dropFirst(offset).prefix(Self.notificationsPerPage)
        let next = offset + page.count
        return .json { json in
            if next < sent.count { json.member("paginationToken", "page-\(next)") }
            json.member("hasMore", next < sent.count)
            json.array("notificationHistory") { list in
                for entry in page { list.object { write(entry, call, &$0) } }
            }
        }
    }

    private static let notificationsPerPage = 20

    private static func offset(_ token: String?) throws(APIError) -> Int {
        guard let token else { return 0 }
        guard token.hasPrefix("page-"), let offset = Int(token.dropFirst("page-".count)), offset > 0 else {
            throw .invalidPaginationToken
        }
        return offset
    }

    private func write(_ entry: TestNotifications.Entry, _ call: APICall, _ json: inout JSONWriter) {
        let jws = signer.jws(entry.notification, dating: \.signedDate, call.context, call.fault)
        json.member("signedPayload", jws)
        json.array("sendAttempts") { list in
            list.object { json in
                json.member("attemptDate", entry.date.millisecondsSince1970)
                json.member("sendAttemptResult", "SUCCESS")
            }
        }
    }
}

/// The parameters of the notification history.
private struct NotificationFilter {
    private let dates: ClosedRange<Int64>
    private let type: String?
    private let excludesTests: Bool

    init(_ body: JSONValue, _ call: APICall) throws(APIError) {
        guard let start = body["startDate"]?.number?.integer else { throw .invalidStartDate }
        guard let end = body["endDate"]?.number?.integer else { throw .invalidEndDate }
        guard start <= end else { throw .startDateAfterEndDate }
        let days: Int64 = call.app.endpoint == .production ? 180 : 30
        guard start >= call.now.advanced(byDays: -days).secondsSince1970 * 1000 else { throw .startDateTooFarInPast }
        type = try Self.type(body)
        if let id = body["transactionId"] {
            guard type == nil else { throw .multipleFilters }
            guard let id = id.string, ServerAPI.isTransactionID(id) else { throw .invalidTransactionID }
        }
        dates = start...end
        // A test is about no transaction, and here it never fails.
        excludesTests =
            body["transactionId"] != nil || body["onlyFailures"]?.bool == true
            || body["notificationSubtype"] != nil
    }

    /// Reads a type of upper-case letters and underscores; a subtype requires one.
    private static func type(_ body: JSONValue) throws(APIError) -> String? {
        guard let type = body["notificationType"] else {
            guard body["notificationSubtype"] == nil else { throw .invalidNotificationType }
            return nil
        }
        let subtype = body["notificationSubtype"] ?? type
        for name in [type, subtype] {
            guard let name = name.string, !name.isEmpty,
                name.utf8.allSatisfy({ (0x41...0x5A).contains($0) || $0 == 0x5F })
            else { throw .invalidNotificationType }
        }
        return type.string
    }

    func admits(_ entry: TestNotifications.Entry) -> Bool {
        !excludesTests && dates.contains(entry.date.millisecondsSince1970) && (type ?? "TEST") == "TEST"
    }
}
