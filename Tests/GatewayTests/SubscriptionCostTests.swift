// SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Gateway
import Receipts
import Testing

/// The cost of states grows with the number of transactions, whatever they say about each other.
///
/// The measure is the CPU time of this thread, in ratios within one test: four times as many may cost nine times as much.
/// Sorting takes somewhat more than four times, a comparison of each with each other one sixteen times.
struct SubscriptionCostTests {
    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    /// Transactions that are chosen to be slow to relate.
    enum Shape: String, CaseIterable, Sendable {
        case renewals, otherProductEachTime, otherProductAtTheEnd, allRefunded, copies, copiesInChainsOfTheirOwn
        case renamedInACircle, renamedInARow, endlessDates, groups

        func transaction(_ number: Int, of count: Int) -> Transaction {
            var period = Transaction(productID: "monthly", transactionID: "\(number)")
            let start = now.advanced(by: .seconds(-86_400 * (count - number)))
            period.originalTransactionID = "1"
            (period.purchaseDate, period.expiresDate) = (start, start.advanced(by: .seconds(86_400)))
            var signed = SignedTransactionFields()
            signed.signedDate = start
            switch self {
            case .renewals: break
            case .otherProductEachTime: period.productID = "product \(number)"
            case .otherProductAtTheEnd: period.productID = number + 1 == count ? "yearly" : "monthly"
            case .allRefunded: period.cancellationDate = start.advanced(by: .seconds(number))
            case .copies, .copiesInChainsOfTheirOwn:
                (period.purchaseDate, period.expiresDate) = (now, now.advanced(by: .seconds(86_400)))
                period.cancellationDate = number % 2 == 0 ? now : nil
                period.webOrderLineItemID = "7"
                if self == .copiesInChainsOfTheirOwn { period.originalTransactionID = "\(number)" }
            case .renamedInACircle, .renamedInARow:
                period.originalTransactionID = "\(number)"
                let isFirst = self == .renamedInARow && number == 0
                signed.previousOriginalTransactionID = isFirst ? nil : "\((number + count - 1) % count)"
            case .endlessDates:
                (period.purchaseDate, period.expiresDate) = (.earliest, .latest)
                period.cancellationDate = number % 3 == 0 ? .earliest : nil
            case .groups:
                period.originalTransactionID = "\(number)"
                period.subscriptionGroupID = "group"
            }
            period.signedFields = .value(signed)
            return period
        }
    }

    @Test(arguments: Shape.allCases) func `states of many transactions cost what their number says`(shape: Shape) {
        func seconds(_ count: Int) -> Double {
            let transactions = (0..<count).map { shape.transaction($0, of: count) }
            return leastSeconds {
                let found = Entitlements(in: TransactionList(transactions), at: Self.now, rules: SubscriptionRules())
                    .subscriptions
                #expect(!found.isEmpty)
            }
        }
        let few = seconds(1000), many = seconds(4000)
        #expect(many <= 9 * few, "\(few) s for 1000, \(many) s for 4000")
    }

    @Test func `the time up to which notifications are known costs what the number of chains says`() throws {
        func seconds(_ count: Int) throws -> Double {
            let periods = (0..<count).map { Period("\($0)", 0..<100, of: "\($0)") }
            let evidence = VerifiedEvidence(.appReceipt(try Samples.verified(Samples.receipt(with: periods))))
            var renewed = try #require(evidence.transactions.first), fields = SignedTransactionFields()
            fields.signedDate = Samples.time(1000)
            renewed.signedFields = .value(fields)
            let notified = EvidenceWithNotifications(evidence, [CustomerState(transactions: [renewed])])
            return leastSeconds { #expect(notified.knownUntil == Samples.created) }
        }
        let few = try seconds(500), many = try seconds(2000)
        #expect(many <= 9 * few, "\(few) s for 500, \(many) s for 2000")
    }

    @Test func `comparing evidence with an answer costs what the number of transactions says`() {
        func seconds(_ count: Int) -> Double {
            var answer = UpstreamAnswer.customer()
            answer.transactions = (0..<count).map { Shape.renewals.transaction($0, of: count) }
            return leastSeconds { #expect(!CompletedAnswer(answer).differs(from: answer.transactions)) }
        }
        let few = seconds(1000), many = seconds(4000)
        #expect(many <= 9 * few, "\(few) s for 1000, \(many) s for 4000")
    }

    /// Returns the CPU time of the fastest of three runs.
    private func leastSeconds(_ work: () -> Void) -> Double {
        (0..<3).reduce(.infinity) { least, _ in
            let start = threadSeconds()
            work()
            return min(least, threadSeconds() - start)
        }
    }

    /// The CPU time of this thread in seconds.
    private func threadSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
