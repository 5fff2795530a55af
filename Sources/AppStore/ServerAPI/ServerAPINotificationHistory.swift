// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
internal import JSON
package import Receipts

/// Reads Apple's notification history with the App Store Server API, and requests test notifications.
///
/// A 401 pauses no key: it is usual for an app that was never released in an environment.
package struct ServerAPINotificationHistory: NotificationHistory {
    private let client: ServerAPIClient
    private let timeout: Duration

    /// - Parameter timeout: the time limit of each call.
    package init(_ client: ServerAPIClient, timeout: Duration) {
        self.client = client
        self.timeout = timeout
    }

    package func isAvailable(forApp bundleID: String) -> Bool { client.hasKey(forApp: bundleID) }

    package func page(
        _ query: NotificationHistoryQuery, after token: String?
    ) async throws(DegradedReason) -> NotificationHistoryPage {
        let json = JSONWriter.object { json in
            json.member("startDate", query.start.millisecondsSince1970)
            json.member("endDate", query.end.millisecondsSince1970)
            json.member("onlyFailures", query.onlyFailures)
        }
        // A token in Apple's answer may have a form that Apple does not document.
        guard let call = try? ServerAPICall(.notificationHistory, query: [(.paginationToken, token)], body: json)
        else { throw .upstreamUnusableAnswer }
        let answer = try Self.answer(await send(call, query.bundleID, query.environment))
        guard answer.hasMore else { return NotificationHistoryPage(answer.signedPayloads) }
        // Without a new position, the pages would never end.
        guard let next = answer.paginationToken, next != token else { throw .upstreamUnusableAnswer }
        return NotificationHistoryPage(answer.signedPayloads, next: next)
    }

    /// Sends a call, within the smaller share of the app's budget, which leaves the rest to verifications and clients.
    private func send(_ call: ServerAPICall, _ bundleID: String, _ environment: Environment) async -> ServerAPIResult {
        var request = ServerAPIRequest(
            call, bundleID: bundleID, environment: UpstreamEnvironment(environment), share: .withoutEvidence)
        request.verifiesNotifications = false
        return await client.send(request, deadline: .now + timeout)
    }

    private static func answer(_ result: ServerAPIResult) throws(DegradedReason) -> ServerAPIAnswer {
        switch result {
        case .answered(let answer): return answer
        case .unauthorized: throw .serverAPIKeyRejected
        // As a 401: the app was never released in this environment.
        case .refused(let error, _, _) where error.saysAppNotFound: throw .serverAPIKeyRejected
        case .refused(let error, _, _): throw error.mayPass ? .upstreamUnavailable : .upstreamRequestRefused
        case .unanswered(let reason, _, _): throw reason
        }
    }
}

// MARK: - Test notifications

/// A test notification that Apple was requested to send.
package struct TestNotification: Hashable, Sendable {
    package let bundleID: String
    package let environment: Environment
    /// `testNotificationToken`: the UUID of the notification, an underscore, and the time in milliseconds.
    package let token: String

    package var identity: NotificationIdentity {
        NotificationIdentity(environment, uuid: String(token.prefix { $0 != "_" }))
    }
}

/// The reason why there is no test notification, or no status of a test notification.
package enum TestNotificationFault: Error, Hashable, Sendable {
    /// App Store Connect has no URL for notifications of this app and environment.
    case noURL
    /// Apple does not know the test notification, or not yet.
    case notFound
    case unanswered(DegradedReason)
}

extension ServerAPINotificationHistory {
    /// Requests a test notification, which Apple sends to the URL in App Store Connect.
    package func requestTest(
        _ bundleID: String, _ environment: Environment
    ) async throws(TestNotificationFault) -> TestNotification {
        let answer = try await answer(to: .testNotification, [], bundleID, environment)
        guard let token = answer.testNotificationToken else { throw .unanswered(.upstreamUnusableAnswer) }
        return TestNotification(bundleID: bundleID, environment: environment, token: token)
    }

    package func attempts(of test: TestNotification) async throws(TestNotificationFault) -> [SendAttempt] {
        try await answer(to: .testNotificationStatus, [test.token], test.bundleID, test.environment).sendAttempts
    }

    private func answer(
        to operation: ServerAPIOperation, _ values: [String], _ bundleID: String, _ environment: Environment
    ) async throws(TestNotificationFault) -> ServerAPIAnswer {
        guard let call = try? ServerAPICall(operation, values) else { throw .unanswered(.upstreamUnusableAnswer) }
        let result = await send(call, bundleID, environment)
        if case .refused(let error, _, _) = result {
            if error.saysNoNotificationURL { throw .noURL }
            if error.saysTestNotificationNotFound { throw .notFound }
        }
        do throws(DegradedReason) { return try Self.answer(result) } catch { throw .unanswered(error) }
    }
}
