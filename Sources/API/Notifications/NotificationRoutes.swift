// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import NIOCore
package import Receipts
internal import Resilience

/// `POST /apple/notifications`, or `POST /apple/notifications/{token}` if a token is configured: App Store Server
/// Notifications, for which Apple has no API key.
///
/// ```
/// body ──▶ token, type ──▶ too many invalid? ──▶ verify ──▶ charge version 1 ──▶ store ──▶ 200
///            │ wrong          │ known                   │ unproven
///            └──▶ problem     └──▶ 429                  └──▶ charge, problem
/// ```
///
/// 200 means that the notification is stored, now or before. After any other status Apple sends it again.
package struct NotificationRoutes: Sendable {
    private let intake: NotificationIntake
    private let access: CurrentAccess
    private let token: NotificationToken?
    private let charging: RequestCharging
    private let clock: @Sendable () -> Timestamp

    /// An address is charged for invalid notifications, because each costs a verification, and for repetitions with
    /// padding. An app is charged for notifications of version 1, whose only proof is a secret: by number, because each
    /// is remembered for days, and by size. Other genuine notifications are never charged.
    enum Limits {
        static let body = ByteCount.bytes(NotificationBody.Limits.v1Bytes)
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

    package init(
        _ intake: NotificationIntake, access: CurrentAccess, token: NotificationToken?, charging: RequestCharging,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.intake, self.access, self.token) = (intake, access, token)
        (self.charging, self.clock) = (charging, clock)
    }

    /// Both routes. A token selects the route that is offered while any app is served.
    package var routes: [Route] {
        [
            route(.notifications, isOffered: token == nil) { _ in },
            route(.notificationsWithToken, isOffered: token != nil) { [token] context in
                guard token?.matches(context.match.parameter) == true else { throw Problem.notFound }
            },
        ]
    }

    private func route(
        _ label: RouteLabel, isOffered: Bool, _ check: @escaping @Sendable (RequestContext) throws -> Void
    ) -> Route {
        Route(
            .post, label.rawValue, authentication: .body, bodyLimit: Limits.body, allowsTrailingSlash: true,
            problems: { problem, requestID in
                var reply = Reply(problem, requestID: requestID)
                // The client is not identified.
                reply.isLast = true
                return reply
            },
            isOffered: { [access] in isOffered && access.now.servedApps?.isEmpty != true }
        ) { context, body in
            try check(context)
            return try accept(context, body)
        }
    }

    private func accept(_ context: RequestContext, _ body: ReservedBody) throws -> Step<Reply, any Error> {
        let admission = charging.admission
        let sender = charging.sender(of: context, under: Limits.address, of: Limits.client)
        try admission.refuseIfLimited(sender)
        guard RequestMediaType.json.accepts(context.header.contentType) else {
            return try admission.charge(sender) { throw Problem.unsupportedMediaType }
        }
        return .compute {
            let notification: VerifiedNotificationBody
            do throws(NotificationRejection) {
                notification = try intake.verify(body: Array(buffer: body.bytes), at: clock())
            } catch {
                guard error.isUnproven else { throw error }
                return try admission.charge(sender) { throw error }
            }
            body.reservation?.identify()
            let app = charging.sender(charges: charges(for: notification))
            return try admission.charge(app) { [reservation = body.reservation] in
                .wait {
                    // The memory of the body, which the notification holds.
                    defer { withExtendedLifetime(reservation) {} }
                    let accepted = try await intake.store(notification)
                    context.record { $0.result = LogMembers(accepted) }
                    // A repetition that is larger than Apple's is still answered, unless the address is over the limit.
                    if accepted.outcome == .duplicate, notification.isPadded {
                        _ = try await admission.charge(sender) { .done(true) }.value()
                    }
                    return .done(Reply(fields: [:], body: []))
                }
            }
        }
    }

    private func charges(for notification: VerifiedNotificationBody) -> [RateCharge] {
        guard notification.version == .v1 else { return [] }
        let app = notification.bundleID
        return [
            RateCharge(RateBucket(client: Limits.client, policy: Limits.version1, subject: app)),
            RateCharge(
                RateBucket(client: Limits.client, policy: Limits.version1Size, subject: app),
                cost: (notification.byteCount + 1023) / 1024),
        ]
    }
}
