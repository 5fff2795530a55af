// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// The App Store Server API without the network.
final class ServerAPI: Sendable {
    let customers: CustomerRegistry
    let signer: ContentsSigner
    let limits: SimulatorLimits
    let notifications: NotificationRegistry
    let sender: NotificationSender
    let massRequests = Mutex<[MassRequest.Name: MassRequest]>([:])
    private let retentionMessages = Mutex<[AppInStore: RetentionMessages]>([:])
    private let keys: [String: AcceptedKey]
    let quotas: Mutex<HourlyQuotas>

    init(
        pki: TransactionPKI, keys: [AcceptedKey], customers: CustomerRegistry, notifications: NotificationRegistry,
        sender: NotificationSender, limits: SimulatorLimits
    ) {
        self.customers = customers
        self.notifications = notifications
        self.sender = sender
        self.limits = limits
        self.keys = Dictionary(keys.map { ($0.key.keyID, $0) }) { first, _ in first }
        signer = ContentsSigner(pki: pki, maximumBytes: limits.maximumSignedBytes)
        quotas = Mutex(HourlyQuotas(maximumQuotas: limits.maximumQuotas))
    }

}

/// A call that was admitted or refused before its operation begins.
enum APIAdmission: Sendable {
    case admitted(APICall)
    case refused(APIOperation?, StoreAnswer)

    var operation: APIOperation? {
        switch self {
        case .admitted(let call): call.route.operation
        case .refused(let operation, _): operation
        }
    }
}

/// A call with a valid token, within its limit.
struct APICall: Sendable {
    let route: APIRoute
    let app: AppInStore
    let request: APIRequest
    let context: CallContext
    /// Changes the answer if it is a fault of this answer's kind.
    var fault: ServerFault?

    var query: APIQuery { request.query }
    var now: UTCDate { UTCDate(context.now) }

    /// The value of the path, or the first of two.
    var id: String { route.values.first ?? "" }
}

extension ServerAPI {
    /// Checks the path, the token and the hourly limit, and counts the call.
    func admit(_ request: APIRequest, _ context: CallContext) -> APIAdmission {
        let route: APIRoute
        do throws(APIRoute.Problem) {
            route = try APIRoute(request.method, request.path)
        } catch {
            return .refused(nil, .page(error == .wrongMethod ? 405 : 404))
        }
        let token = ReceivedToken(
            request.headers, keys: keys, maximumBytes: limits.maximumTokenBytes, now: context.serverNow)
        guard let token, !context.refuses(token.bundleID) else { return .refused(route.operation, .unauthenticated) }
        let app = AppInStore(bundleID: token.bundleID, endpoint: context.endpoint)
        let quota = HourlyQuotas.Name(app: app, operation: route.operation)
        let share = context.scenario.serverAPILimitShare
        if let next = quotas.withLock({ $0.count(quota, share: share, at: context.now) }) {
            // By the servers' clock.
            let date = next.advanced(by: .seconds(context.scenario.clockSkewSeconds))
            return .refused(route.operation, .error(.rateLimitExceeded, retryAt: date))
        }
        return .admitted(APICall(route: route, app: app, request: request, context: context))
    }

    func answer(to call: APICall) -> StoreAnswer {
        switch call.fault {
        case .serverAPIError(let code):
            // Apple's text, if the code is known.
            return .error(APIError.allCases.first { $0.code == code } ?? .unknownError, code: code)
        case .throttled(let delay):
            return .error(.rateLimitExceeded, retryAt: call.context.serverNow.advanced(by: delay))
        default: break
        }
        do throws(APIError) {
            if call.context.scenario.unknownApps.contains(call.app.bundleID) { throw .appNotFound }
            return try perform(call)
        } catch {
            return .error(error)
        }
    }

    private func perform(_ call: APICall) throws(APIError) -> StoreAnswer {
        switch call.route.operation {
        case .transactionInfo: try transactionInfo(call)
        case .transactionHistory, .transactionHistoryV1: try history(call)
        case .subscriptionStatuses: try statuses(call)
        case .appTransactionInfo: try appTransactionInfo(call)
        case .orderLookup: try lookup(call)
        case .refundHistory: try refunds(call)
        case .notificationHistory: try notificationHistory(call)
        case .testNotification: try testNotification(call)
        case .testNotificationStatus: try testNotificationStatus(call)
        case .extendRenewalDate: try extendRenewalDate(call)
        case .massExtendRenewalDates: try massExtend(call)
        case .massExtensionStatus: try massExtensionStatus(call)
        case .consumptionInformation: try consumption(call)
        case .setAppAccountToken: try setAppAccountToken(call)
        case .finishTransaction: try finish(call)
        case .retentionMessagingInfo, .retentionMessagingChange: try retentionMessaging(call)
        case .advancedCommerce: try advancedCommerce(call)
        }
    }

    private func retentionMessaging(_ call: APICall) throws(APIError) -> StoreAnswer {
        try retentionMessages.withLock { apps throws(APIError) in
            guard apps[call.app] != nil || apps.count < limits.maximumMessagingApps else { throw .unknownError }
            return try apps[call.app, default: RetentionMessages()].answer(call, limits)
        }
    }
}

extension CallContext {
    /// Returns true for an app that was never released: production has no such app, and says so with 401.
    fileprivate func refuses(_ bundleID: String) -> Bool {
        endpoint == .production && scenario.unreleasedApps.contains(bundleID)
    }
}
