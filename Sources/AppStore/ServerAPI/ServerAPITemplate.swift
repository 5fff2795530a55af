// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPClient

/// The form of a call: method, path, query and body. The list of all is closed.
package struct ServerAPITemplate: Sendable {
    enum Segment: Hashable, Sendable {
        case word(Substring)
        case parameter(ServerAPIParameter)

        /// Creates a segment from a word, or from a parameter's name in braces.
        init(_ text: Substring) {
            let parameter = ServerAPIParameter(rawValue: String(text.dropFirst().dropLast()))
            self = if text.hasPrefix("{"), let parameter { .parameter(parameter) } else { .word(text) }
        }
    }

    let operation: ServerAPIOperation
    let method: TransportRequest.Method
    /// The path after the host, with the names of its parameters in braces.
    package let path: String
    /// The segments of the path.
    let segments: [Segment]
    let query: Set<ServerAPIParameter>
    let body: ServerAPICall.BodyType

    package var methodName: String { method.rawValue }

    /// All templates; the first of an operation has the calls that the gateway itself makes.
    package static let all: [ServerAPITemplate] = [
        .init(.transactionInfo, .get, "/inApps/v1/transactions/{transactionId}"),
        .init(.transactionHistory, .get, "/inApps/v2/history/{transactionId}", query: history),
        .init(.transactionHistoryV1, .get, "/inApps/v1/history/{transactionId}", query: history),
        .init(.subscriptionStatuses, .get, "/inApps/v1/subscriptions/{transactionId}", query: [.status]),
        .init(.appTransactionInfo, .get, "/inApps/v1/transactions/appTransactions/{transactionId}"),
        .init(.orderLookup, .get, "/inApps/v1/lookup/{orderId}"),
        .init(.refundHistory, .get, "/inApps/v2/refund/lookup/{transactionId}", query: [.revision]),
        .init(
            .notificationHistory, .post, "/inApps/v1/notifications/history", query: [.paginationToken], body: .json),
        .init(.testNotification, .post, "/inApps/v1/notifications/test"),
        .init(.testNotificationStatus, .get, "/inApps/v1/notifications/test/{testNotificationToken}"),
        .init(.extendRenewalDate, .put, "/inApps/v1/subscriptions/extend/{originalTransactionId}", body: .json),
        .init(.massExtendRenewalDates, .post, "/inApps/v1/subscriptions/extend/mass", body: .json),
        .init(.massExtensionStatus, .get, "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}"),
        .init(.consumptionInformation, .put, "/inApps/v2/transactions/consumption/{transactionId}", body: .json),
        // Version 1 has other members.
        .init(.consumptionInformation, .put, "/inApps/v1/transactions/consumption/{transactionId}", body: .json),
        .init(
            .setAppAccountToken, .put, "/inApps/v1/transactions/{originalTransactionId}/appAccountToken", body: .json),
        .init(.finishTransaction, .post, "/inApps/v1/transactions/{transactionId}/finish"),
        .init(.retentionMessagingInfo, .get, "/inApps/v1/messaging/image/list"),
        .init(.retentionMessagingInfo, .get, "/inApps/v1/messaging/message/list"),
        .init(.retentionMessagingInfo, .get, "/inApps/v1/messaging/default/{productId}/{locale}"),
        .init(.retentionMessagingInfo, .get, "/inApps/v1/messaging/realtime/url"),
        .init(.retentionMessagingInfo, .get, "/inApps/v1/messaging/performanceTest/result/{requestId}"),
        .init(
            .retentionMessagingChange, .put, "/inApps/v1/messaging/image/{imageIdentifier}", query: [.imageSize],
            body: .png),
        .init(.retentionMessagingChange, .delete, "/inApps/v1/messaging/image/{imageIdentifier}"),
        .init(.retentionMessagingChange, .put, "/inApps/v1/messaging/message/{messageIdentifier}", body: .json),
        .init(.retentionMessagingChange, .delete, "/inApps/v1/messaging/message/{messageIdentifier}"),
        .init(.retentionMessagingChange, .put, "/inApps/v1/messaging/default/{productId}/{locale}", body: .json),
        .init(.retentionMessagingChange, .delete, "/inApps/v1/messaging/default/{productId}/{locale}"),
        .init(.retentionMessagingChange, .put, "/inApps/v1/messaging/realtime/url", body: .json),
        .init(.retentionMessagingChange, .delete, "/inApps/v1/messaging/realtime/url"),
        .init(.retentionMessagingChange, .post, "/inApps/v1/messaging/performanceTest", body: .json),
        // Every change has the right and the effect of the operation, also those that Apple adds.
        .init(.advancedCommerce, .post, "/advancedCommerce/v1/subscription/{change}/{transactionId}", body: .json),
        .init(.advancedCommerce, .post, "/advancedCommerce/v1/transaction/{change}/{transactionId}", body: .json),
    ]

    private static let history: Set<ServerAPIParameter> = [
        .revision, .startDate, .endDate, .productID, .productType, .sort, .subscriptionGroupIdentifier,
        .inAppOwnershipType, .revoked,
    ]

    private init(
        _ operation: ServerAPIOperation, _ method: TransportRequest.Method, _ path: String,
        query: Set<ServerAPIParameter> = [], body: ServerAPICall.BodyType = .none
    ) {
        (self.operation, self.method, self.path, self.query, self.body) = (operation, method, path, query, body)
        segments = path.split(separator: "/").map { Segment($0) }
    }
}

// MARK: - Paths

extension ServerAPITemplate {
    /// Returns the values of the parameters if the path has the words of the template; else nil.
    func values(of path: [Substring]) -> [(parameter: ServerAPIParameter, value: String)]? {
        guard path.count == segments.count else { return nil }
        var values: [(ServerAPIParameter, String)] = []
        for (segment, text) in zip(segments, path) {
            switch segment {
            case .word(let word): guard text == word else { return nil }
            case .parameter(let parameter): values.append((parameter, String(text)))
            }
        }
        return values
    }

    /// The parameters of the path, in order.
    var parameters: [ServerAPIParameter] {
        segments.compactMap { segment in
            if case .parameter(let parameter) = segment { parameter } else { nil }
        }
    }

    /// Returns the path with these values of its parameters, in order.
    func path(_ values: [String]) -> String {
        var rest = values[...]
        return segments.reduce(into: "") { path, segment in
            switch segment {
            case .word(let word): path += "/" + word
            case .parameter: path += "/" + (rest.popFirst() ?? "")
            }
        }
    }
}
