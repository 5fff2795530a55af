// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import Testing
import TestSupport

@testable import AppleSimulator

/// Apple's limits, which the gateway and the simulator have each for itself.
struct ServerAPILimitTests {
    /// The operations by their names in docs/server-api.md.
    private static let names: [Substring: [ServerAPIOperation]] = [
        "transaction info": [.transactionInfo], "transaction history": [.transactionHistory, .transactionHistoryV1],
        "subscription statuses": [.subscriptionStatuses], "app transaction info": [.appTransactionInfo],
        "notification history": [.notificationHistory], "consumption information": [.consumptionInformation],
        "finish transaction": [.finishTransaction], "extend a renewal date": [.extendRenewalDate],
        "set the app account token": [.setAppAccountToken], "order lookup": [.orderLookup],
        "refund history": [.refundHistory], "test notification": [.testNotification],
        "mass extension": [.massExtendRenewalDates],
        "retention messaging": [.retentionMessagingInfo, .retentionMessagingChange],
        "advanced commerce": [.advancedCommerce],
        "and their statuses": [.testNotificationStatus, .massExtensionStatus],
    ]

    @Test func `the gateway and the simulator have the limits of docs/server-api.md`() throws {
        let file = repositoryRoot.appending(path: "docs/server-api.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        var documented: [String: Int] = [:]
        for row in page.matches(of: /(?m)^\| ([a-z ,]+) \| (\d+) \| ([\d,]+) \|$/) {
            let limit = try #require(Int(row.output.2)), hourly = Int(row.output.3.replacing(",", with: ""))
            #expect(hourly == limit * 3600 * 9 / 10, "\(row.output.0)")
            for name in row.output.1.split(separator: ", ") {
                let operations = try #require(Self.names[name], "no operation is named \(name)")
                for operation in operations { documented[operation.rawValue] = limit }
            }
        }
        let ofGateway = ServerAPIOperation.allCases.map { ($0.rawValue, $0.requestsPerSecond) }
        #expect(Dictionary(uniqueKeysWithValues: ofGateway) == documented)
        let ofSimulator = APIOperation.allCases.map { ($0.rawValue, $0.requestsPerHour(at: .production) / 3600) }
        #expect(Dictionary(uniqueKeysWithValues: ofSimulator) == documented)
    }
}
