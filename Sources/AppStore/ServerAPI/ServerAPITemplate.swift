// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPClient

/// The form of an operation's calls: method, path, query and body. The list of all is closed.
struct ServerAPITemplate: Sendable {
    enum Segment: Hashable, Sendable, ExpressibleByStringLiteral {
        case word(String)
        case parameter(ServerAPIParameter)

        init(stringLiteral word: String) { self = .word(word) }

        static let transactionID = Segment.parameter(.transactionID)
    }

    let operation: ServerAPIOperation
    let method: TransportRequest.Method
    /// The segments of the path after `/inApps`.
    let segments: [Segment]
    var query: Set<ServerAPIParameter> = []
    /// The parameter that the query must have with this value, and with no other.
    var required: (parameter: ServerAPIParameter, value: String)?
    /// True if the call has a JSON object as its body.
    var hasBody = false

    /// All templates, in the order of `ServerAPIOperation.allCases`.
    static let all = ServerAPIOperation.allCases.map(template)

    static func template(of operation: ServerAPIOperation) -> ServerAPITemplate {
        switch operation {
        case .transactionInfo: .init(operation, .get, ["v1", "transactions", .transactionID])
        case .transactionHistory: .init(operation, .get, ["v2", "history", .transactionID], query: history)
        // Version 2 replaces it but for consumables that the app did not finish.
        case .transactionHistoryV1:
            .init(
                operation, .get, ["v1", "history", .transactionID], query: history,
                required: (.productType, "CONSUMABLE"))
        case .subscriptionStatuses: .init(operation, .get, ["v1", "subscriptions", .transactionID], query: [.status])
        case .appTransactionInfo: .init(operation, .get, ["v1", "transactions", "appTransactions", .transactionID])
        case .orderLookup: .init(operation, .get, ["v1", "lookup", .parameter(.orderID)])
        case .refundHistory: .init(operation, .get, ["v2", "refund", "lookup", .transactionID], query: [.revision])
        case .notificationHistory:
            .init(operation, .post, ["v1", "notifications", "history"], query: [.paginationToken], hasBody: true)
        case .testNotification: .init(operation, .post, ["v1", "notifications", "test"])
        case .testNotificationStatus:
            .init(operation, .get, ["v1", "notifications", "test", .parameter(.testNotificationToken)])
        case .extendRenewalDate:
            .init(operation, .put, ["v1", "subscriptions", "extend", .transactionID], hasBody: true)
        case .massExtendRenewalDates: .init(operation, .post, ["v1", "subscriptions", "extend", "mass"], hasBody: true)
        case .massExtensionStatus:
            .init(
                operation, .get,
                [
                    "v1", "subscriptions", "extend", "mass", .parameter(.productID), .parameter(.requestIdentifier),
                ])
        case .consumptionInformation:
            .init(operation, .put, ["v2", "transactions", "consumption", .transactionID], hasBody: true)
        case .setAppAccountToken:
            .init(operation, .put, ["v1", "transactions", .transactionID, "appAccountToken"], hasBody: true)
        case .finishTransaction: .init(operation, .post, ["v1", "transactions", .transactionID, "finish"])
        }
    }

    private static let history: Set<ServerAPIParameter> = [
        .revision, .startDate, .endDate, .productID, .productType, .sort, .subscriptionGroupIdentifier,
        .inAppOwnershipType, .revoked,
    ]

    private init(
        _ operation: ServerAPIOperation, _ method: TransportRequest.Method, _ segments: [Segment],
        query: Set<ServerAPIParameter> = [], required: (parameter: ServerAPIParameter, value: String)? = nil,
        hasBody: Bool = false
    ) {
        (self.operation, self.method, self.segments) = (operation, method, segments)
        (self.query, self.required, self.hasBody) = (query, required, hasBody)
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

    /// Returns the path with these values of its parameters, in order.
    func path(_ values: [String]) -> String {
        var rest = values[...]
        return segments.reduce(into: "/inApps") { path, segment in
            switch segment {
            case .word(let word): path += "/" + word
            case .parameter: path += "/" + (rest.popFirst() ?? "")
            }
        }
    }
}
