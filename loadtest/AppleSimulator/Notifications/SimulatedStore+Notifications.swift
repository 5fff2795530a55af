// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import ReceiptForge
internal import Receipts
internal import Synchronization

extension SimulatedStore {
    /// Changes customers, and sends the notifications about that. Returns the UUIDs of the notifications; version 1 has
    /// none.
    func notify(_ request: NotificationRequest) throws(ControlError) -> [String] {
        let destination = notifications.destination(of: request.app)
        guard destination?.version != .one || request.kind.firstVersionType != nil else {
            throw .notInVersion1(request.kind.type)
        }
        if request.subject == .app { return [notifyAboutApp(request, destination)] }
        let ids = try ids(of: request)
        try sender.requireRoom(for: ids.count * request.copies)
        var uuids: [String] = []
        for id in ids {
            if let uuid = try notify(request, aboutCustomer: id, destination) { uuids.append(uuid) }
        }
        return uuids
    }

    private func ids(of request: NotificationRequest) throws(ControlError) -> [String] {
        switch request.subject {
        case .app: return []
        case .transaction(let id), .subscription(let id): return [id]
        case .customers(let first, let count):
            let ids = customers.originalTransactionIDs(of: request.app, from: first, count: count)
            guard ids.count == count else {
                throw .wrongValue(of: "count", needed: "at most the number of customers, which is \(ids.count) here")
            }
            return ids
        }
    }

    private func notifyAboutApp(_ request: NotificationRequest, _ destination: NotificationDestination?) -> String {
        let (uuid, now) = (UUID().uuidString.lowercased(), controlContext(at: request.endpoint).now)
        let contents = NotificationContents(request.kind, of: request.app, uuid: uuid, signedAt: now)
        send(contents, of: nil, request, destination, at: now)
        return uuid
    }

    private func notify(
        _ request: NotificationRequest, aboutCustomer id: String, _ destination: NotificationDestination?
    ) throws(ControlError) -> String? {
        let context = controlContext(at: request.endpoint)
        guard let found = customers.customer(withID: id, of: request.app, context) else { throw .unknownCustomer(id) }
        let (changed, (transactionID, date)) = try customers.update(found) { customer throws(ControlError) in
            let transactionID = try customer.apply(request, toID: id, context, limits)
            return (transactionID, customer.changes.dateNotification(at: context.now))
        }
        let view = serverAPI.view(of: changed, context)
        if let destination, destination.version == .one {
            sendFirstVersion(aboutTransaction: transactionID, of: view, request, destination, context)
            return nil
        }
        let uuid = UUID().uuidString.lowercased()
        let contents = serverAPI.notification(
            request.kind, aboutTransaction: transactionID, of: view, uuid: uuid, signedAt: date, context)
        send(contents, of: view.customer, request, destination, at: context.now)
        return uuid
    }
}

extension SimulatedStore {
    /// Signs a notification, adds it to the history, and sends it, unless it is to get lost.
    private func send(
        _ contents: NotificationContents, of customer: Customer?, _ request: NotificationRequest,
        _ destination: NotificationDestination?, at now: Timestamp
    ) {
        let entry = NotificationLog.Entry(
            contents, of: request.app, appTransactionID: customer?.appTransactionID,
            signedPayload: serverAPI.signer.jws(contents))
        let number = notifications.log.withLock { $0.add(entry) }
        guard request.isDelivered, let destination else {
            let attempt = NotificationAttempt(date: now, result: request.lostResult)
            return notifications.log.withLock { $0.record(attempt, of: number) }
        }
        send(entry.body, entry: number, request, destination)
    }

    /// Sends a notification of version 1, which has no history.
    private func sendFirstVersion(
        aboutTransaction id: String, of view: CustomerView, _ request: NotificationRequest,
        _ destination: NotificationDestination, _ context: CallContext
    ) {
        guard request.isDelivered, let type = request.kind.firstVersionType else { return }
        let receipt = IssuedReceipt.app(view.account.receipt(issuedAt: UTCDate(context.now)))
        let notification = FirstVersionNotification(
            type: type, transactionID: id, view: view, password: context.scenario.sharedSecret,
            latestReceipt: receipt.base64(signedBy: pki), date: context.now)
        send(notification.body, entry: nil, request, destination)
    }

    /// Sends copies in parallel. Only the first copy is tried again.
    private func send(
        _ body: ByteBuffer, entry: Int64?, _ request: NotificationRequest,
        _ destination: NotificationDestination
    ) {
        for copy in 0..<request.copies {
            let waits = copy == 0 ? notifications.waits(of: request.app, destination) : []
            let delivery = NotificationDelivery(app: request.app, body: body, entry: entry, waits: waits)
            sender.send(delivery, after: request.delay)
        }
    }
}

extension NotificationLog.Entry {
    init(
        _ contents: NotificationContents, of app: AppInStore, appTransactionID: String? = nil, signedPayload: String
    ) {
        self.init(
            app: app, type: contents.notificationType ?? "", subtype: contents.subtype,
            uuid: contents.notificationUUID ?? "",
            signedDate: contents.signedDate ?? Timestamp(millisecondsSince1970: 0), appTransactionID: appTransactionID,
            signedPayload: signedPayload)
    }
}
