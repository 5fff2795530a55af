// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
package import Gateway
internal import HTTPServer
internal import Resilience
internal import Telemetry

/// The limits of notifications, whose senders have no API key.
///
/// An address is charged for invalid notifications, because each costs a verification, and for repetitions with padding.
/// An app is charged for notifications of version 1, whose only proof is a secret: by number, because each is
/// remembered for days, and by size. Other genuine notifications are never charged.
package struct NotificationLimits: Sendable {
    private let admission: ClientAdmission
    private let charging: RequestCharging

    enum Limits {
        /// Invalid notifications of one address, or IPv6 /64.
        static let address = RatePolicy(name: "invalid-notifications", quota: 600, window: .seconds(60))
        /// The notifications of version 1 of one app.
        static let version1 = RatePolicy(
            name: "version-1-notifications", quota: 600, window: .seconds(60), burst: 1200)
        /// Their size, in KiB.
        static let version1Size = RatePolicy(
            name: "version-1-kibibytes", quota: 32 << 10, window: .seconds(60), burst: 64 << 10)
        /// The owner of the buckets.
        static let client = "notifications"
    }

    package init(admission: ClientAdmission, charging: RequestCharging) {
        self.admission = admission
        self.charging = charging
    }

    /// Throws `GatewayError` for a request from an address that is known to be over the limit.
    func refuseIfLimited(_ context: RequestContext) throws(GatewayError) {
        try admission.refuseIfLimited(sender(of: context))
    }

    /// Throws the reason to refuse a request, or that its address sends too many such requests.
    func refuse(_ reason: any Error, in context: RequestContext) throws -> Step<Reply, any Error> {
        try admission.charge(sender(of: context)) { throw reason }
    }

    /// Stores a notification, once its app has tokens if only a secret proves it.
    func admit(
        _ notification: VerifiedNotificationBody, storing store: @escaping @Sendable () async throws -> Reply
    ) throws -> Step<Reply, any Error> {
        let charges = notification.version == .v1 ? charges(notification.bundleID, bytes: notification.byteCount) : []
        return try admission.charge(client(charges)) { .wait { .done(try await store()) } }
    }

    /// Charges a repetition that is larger than Apple's. It is still answered, unless the address is over the limit.
    func chargePadding(in context: RequestContext) async throws {
        let _: Bool = try await admission.charge(sender(of: context)) { .done(true) }.value()
    }

    private func sender(of context: RequestContext) -> RequestClient {
        let address = charging.address(of: context)?.subscriber ?? ""
        return client([RateCharge(RateBucket(client: Limits.client, policy: Limits.address, subject: address))])
    }

    private func charges(_ bundleID: String, bytes: Int) -> [RateCharge] {
        [
            RateCharge(RateBucket(client: Limits.client, policy: Limits.version1, subject: bundleID)),
            RateCharge(
                RateBucket(client: Limits.client, policy: Limits.version1Size, subject: bundleID),
                cost: (bytes + 1023) / 1024),
        ]
    }

    private func client(_ charges: [RateCharge]) -> RequestClient {
        RequestClient(charges: charges, onAdmission: { [metrics = charging.metrics] in metrics.count($0, under: []) })
    }
}
