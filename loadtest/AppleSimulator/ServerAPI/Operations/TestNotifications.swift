// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The test notifications that clients requested, oldest first, up to a number of them.
struct TestNotifications: Sendable {
    struct Entry: Sendable {
        let app: AppInStore
        /// The UUID of the notification, an underscore, and the time in milliseconds.
        let token: String
        let notification: NotificationContents
        let date: Timestamp
    }

    private(set) var entries: [Entry] = []
    private let maximumCount: Int

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    mutating func add(_ entry: Entry) {
        if entries.count >= maximumCount { entries.removeFirst() }
        entries.append(entry)
    }

    func entry(_ token: String, of app: AppInStore) -> Entry? {
        entries.first { $0.token == token && $0.app == app }
    }
}

extension TestNotifications.Entry {
    init(of app: AppInStore, uuid: String, at now: Timestamp) {
        var contents = NotificationContents()
        contents.notificationType = "TEST"
        contents.notificationUUID = uuid
        contents.signedDate = nil
        contents.data?.appAppleID = app.endpoint == .production ? CustomerIDs.appAppleID(of: app.bundleID) : nil
        contents.data?.bundleID = app.bundleID
        contents.data?.bundleVersion = nil
        contents.data?.environment = app.endpoint.environment.rawValue
        contents.data?.status = nil
        self.init(app: app, token: "\(uuid)_\(now.millisecondsSince1970)", notification: contents, date: now)
    }
}
