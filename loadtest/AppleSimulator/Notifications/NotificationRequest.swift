// SPDX-License-Identifier: Apache-2.0

/// A request to change customers, and to notify their app.
package struct NotificationRequest: Hashable, Sendable {
    /// The customers, and the purchase that a notification is about.
    package enum Subject: Hashable, Sendable {
        /// None: the notification is about the app.
        case app
        /// The transaction with an ID, or the newest period of the subscription with it.
        case transaction(String)
        /// The newest period of the subscription with an original transaction ID.
        case subscription(String)
        /// Customers of the app's populations, each with the newest period of the subscription.
        case customers(first: Int64, count: Int64)
    }

    package var bundleID: String
    package var endpoint: Endpoint
    package var kind: NotificationKind
    package var subject: Subject
    /// The product to change to, or to buy.
    package var productID: String?
    /// False for a notification that gets lost: only the history has it.
    package var isDelivered = true
    /// The result of the attempt that gets lost.
    var lostResult = SendAttemptResult.noResponse
    /// The number of copies that are sent in parallel.
    package var copies = 1
    /// The time until the first attempt.
    package var delay: Duration = .zero

    package init(_ kind: NotificationKind, about subject: Subject, ofApp bundleID: String, at endpoint: Endpoint) {
        self.kind = kind
        self.subject = subject
        self.bundleID = bundleID
        self.endpoint = endpoint
    }

    var app: AppInStore { AppInStore(bundleID: bundleID, endpoint: endpoint) }
}

extension NotificationRequest {
    /// Reads the body of `POST /notifications`.
    init(_ body: [UInt8], limits: SimulatorLimits) throws(ControlError) {
        let members = try ControlFields(
            body,
            known: [
                "bundle_id", "count", "delay", "deliver", "environment", "first_customer", "original_transaction_id",
                "product_id", "result", "subtype", "times", "transaction_id", "type",
            ])
        let app = try members.app()
        let kind = NotificationKind(try members.required("type").typeName(), try members["subtype"]?.typeName())
        self.init(
            kind, about: kind.isAboutApp ? .app : try Subject(members, limits), ofApp: app.bundleID, at: app.endpoint)
        productID = try members["product_id"]?.text()
        isDelivered = try members["deliver"]?.flag() ?? true
        lostResult = try members["result"]?.word(as: SendAttemptResult.self) ?? .noResponse
        copies = try members["times"]?.integer(in: 1...limits.maximumCopies) ?? 1
        let seconds = try members["delay"]?.number(in: 0...Double(limits.maximumWait.components.seconds)) ?? 0
        delay = .milliseconds(Int64(seconds * 1000))
    }
}

extension NotificationRequest.Subject {
    fileprivate init(_ members: ControlFields, _ limits: SimulatorLimits) throws(ControlError) {
        if let count = try members["count"]?.integer(in: 1...limits.maximumNotificationsPerRequest) {
            let first = try members["first_customer"]?.integer(in: 0...limits.maximumPopulation) ?? 0
            self = .customers(first: first, count: count)
        } else if let id = try members["transaction_id"]?.text() {
            self = .transaction(id)
        } else {
            self = .subscription(try members.required("original_transaction_id").text())
        }
    }
}

extension ControlValue {
    fileprivate func typeName() throws(ControlError) -> String {
        let name = try text()
        guard NotificationKind.isName(name) else { throw wrong(needed: "a name such as DID_RENEW") }
        return name
    }
}
