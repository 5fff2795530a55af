// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
    private let limits: NotificationLimits
    private let clock: @Sendable () -> Timestamp

    enum Limits {
        static let body = ByteCount.bytes(NotificationBody.Limits.v1Bytes)
    }

    package init(
        _ intake: NotificationIntake, access: CurrentAccess, token: NotificationToken?, limits: NotificationLimits,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.intake = intake
        self.access = access
        self.token = token
        self.limits = limits
        self.clock = clock
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
            .post, label.rawValue, authentication: .body, bodyLimit: Limits.body,
            problems: { problem, requestID in .last(problem, requestID: requestID) },
            isOffered: { [access] in isOffered && access.now.servedApps?.isEmpty != true }
        ) { context, body in
            try check(context)
            return try accept(context, body)
        }
    }

    private func accept(_ context: RequestContext, _ body: ReservedBody) throws -> Step<Reply, any Error> {
        try limits.refuseIfLimited(context)
        guard RequestMediaType.json.accepts(context.header.contentType) else {
            return try limits.refuse(Problem.unsupportedMediaType, in: context)
        }
        return .compute {
            let notification: VerifiedNotificationBody
            do throws(NotificationRejection) {
                notification = try intake.verify(body: Array(buffer: body.bytes), at: clock())
            } catch {
                guard error.isUnproven else { throw error }
                return try limits.refuse(error, in: context)
            }
            body.reservation?.identify()
            return try limits.admit(notification) { [reservation = body.reservation] in
                // The memory of the body, which the notification holds.
                defer { withExtendedLifetime(reservation) {} }
                let accepted = try await intake.store(notification)
                context.record { $0.result = LogMembers(accepted) }
                if accepted.outcome == .duplicate, notification.isPadded { try await limits.chargePadding(in: context) }
                return Reply(fields: [:], body: [])
            }
        }
    }
}

extension Reply {
    /// Creates a problem after which the connection ends: the client is not identified.
    fileprivate static func last(_ problem: Problem, requestID: String) -> Reply {
        var reply = Reply(problem, requestID: requestID)
        reply.isLast = true
        return reply
    }
}
