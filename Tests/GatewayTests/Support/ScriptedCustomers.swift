// SPDX-License-Identifier: Apache-2.0

import Receipts
import Synchronization
import TestSupport

@testable import Gateway

/// A scripted App Store Server API: for each ID the results in order, then the last one again and again. It knows no
/// other IDs. Records the requests.
final class ScriptedCustomers: CustomerLookup {
    private struct State {
        var script: [String: [UpstreamResult]]
        var requests: [CustomerRequest] = []
    }

    private let state: Mutex<State>
    private let apps: Set<String>
    private let gate: Gate?

    /// - Parameters:
    ///   - apps: those with a key.
    ///   - gate: requests wait here for their results.
    init(_ script: [String: [UpstreamResult]], apps: Set<String> = [SignedSamples.app], gate: Gate? = nil) {
        state = Mutex(State(script: script))
        self.apps = apps
        self.gate = gate
    }

    var requests: [CustomerRequest] { state.withLock(\.requests) }

    /// The IDs in the order of the requests.
    var asked: [String] { requests.map(\.transactionID) }

    /// Replaces the results for an ID.
    func rewrite(_ id: String, _ results: [UpstreamResult]) { state.withLock { $0.script[id] = results } }

    func hasKey(forApp bundleID: String) -> Bool { apps.contains(bundleID) }

    func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult {
        let result = state.withLock { state in
            state.requests.append(request)
            let results = state.script[request.transactionID] ?? []
            if results.count > 1 { state.script[request.transactionID]?.removeFirst() }
            return results.first ?? .unknownTransaction(.notFound)
        }
        await gate?.pass()
        return result
    }
}

extension UpstreamAnswer {
    /// Apple's answer about a customer whose subscription has the chain `id`: the periods `id`, `id`2 and `id`3, the
    /// last one from 240 to 2000. Apple renamed the chain, which was `id`0 before, and the app transaction is app`id`.
    static func customer(
        _ id: String = "1", in environment: Environment = .sandbox, revision: String? = "r1"
    ) -> UpstreamAnswer {
        let periods: [(String, Range<Int64>)] = [("", -360 ..< -60), ("2", -60..<240), ("3", 240..<2000)]
        let transactions = periods.map { suffix, period in
            var transaction = Transaction(productID: "com.example.forge.monthly", transactionID: id + suffix)
            transaction.originalTransactionID = id
            transaction.purchaseDate = SignedSamples.time(period.lowerBound)
            transaction.expiresDate = SignedSamples.time(period.upperBound)
            var fields = SignedTransactionFields()
            fields.appTransactionID = "app\(id)"
            fields.previousOriginalTransactionID = suffix == "3" ? "\(id)0" : nil
            transaction.signedFields = .value(fields)
            return transaction
        }
        return UpstreamAnswer(
            environment: environment, bundleID: SignedSamples.app, transactions: transactions, renewals: [],
            latestReceipt: nil, body: [], revision: revision)
    }
}
