// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import Receipts

/// Looks up customers' purchases with the App Store Server API: their history, and the statuses of their subscriptions.
package struct ServerAPICustomerLookup: CustomerLookup {
    package enum Limits {
        /// The limit for pages of one history, of twenty transactions each.
        package static let pages = 500
    }

    private let client: ServerAPIClient
    private let interrupted = InterruptedHistories()

    package init(_ client: ServerAPIClient) { self.client = client }

    package func hasKey(forApp bundleID: String) -> Bool { client.hasKey(forApp: bundleID) }

    package func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult {
        var refusals = HostRefusals()
        for environment in request.environment.map({ [$0] }) ?? [.production, .sandbox] {
            let lookup = HostLookup(
                client: client, interrupted: interrupted, request: request, environment: environment, deadline: deadline
            )
            do throws(HostLookup.Interruption) {
                return .answered(try await lookup.answer())
            } catch {
                switch error {
                case .refused(let refusal): refusals.append(refusal, of: environment)
                case .ended(let result): return result
                }
            }
        }
        for (key, environment) in refusals.rejections { client.pause(key, forApp: request.bundleID, in: environment) }
        return refusals.result
    }
}

/// The lookup of one customer at one host.
private struct HostLookup: Sendable {
    /// The reason why the host gives no purchases.
    enum Interruption: Error {
        /// Another host may know the customer.
        case refused(HostRefusals.Refusal)
        case ended(UpstreamResult)

        /// True for an interruption after which the same call may succeed.
        var mayPass: Bool {
            guard case .ended(.unanswered(let reason)) = self else { return false }
            return ![
                .upstreamRequestRefused, .upstreamUnusableAnswer, .upstreamAnswerTooLarge, .upstreamContradiction,
            ].contains(reason)
        }
    }

    let client: ServerAPIClient
    let interrupted: InterruptedHistories
    let request: CustomerRequest
    let environment: UpstreamEnvironment
    let deadline: ContinuousClock.Instant

    func answer() async throws(Interruption) -> UpstreamAnswer {
        var history = try await history()
        try await check(history)
        let statuses: ServerAPIAnswer?
        do throws(Interruption) {
            statuses = history.hasSubscription ? try await self.statuses() : nil
        } catch {
            if error.mayPass { interrupted.keep(history, of: customer, verifiedBy: request.verifier) }
            throw error
        }
        // Apple reports a status as of the call, and the history was read before it. What is signed beside the status may be
        // older.
        let read = history.transactions.compactMap(\.signedDate).max()
        history.add(statuses?.transactions ?? [])
        let renewals = (statuses?.renewals ?? []).map { Renewal($0.renewalInfo, $0.status?.notBefore(read)) }
        var answer = UpstreamAnswer(
            environment: Environment(environment), bundleID: request.bundleID, transactions: history.transactions,
            renewals: renewals, latestReceipt: nil, body: [], revision: history.revision)
        answer.leaveOut(history.unreadable + (statuses?.unreadable ?? []), at: client.now)
        do throws(Interruption) {
            answer.unfinishedConsumables = try await unfinishedConsumables(in: history)
        } catch {
            // The rest is complete.
            (answer.unfinishedConsumables, answer.isPartial) = (.unavailable, true)
        }
        return answer
    }

    /// Checks that the history is about the customer who was asked for.
    private func check(_ history: CustomerHistory) async throws(Interruption) {
        let id = request.transactionID
        guard !history.names(id), !history.isTied(by: request.ties) else { return }
        // The transaction may be among these. What is left says nothing about it.
        if history.unreadable.contains(where: { $0.mayName(id) }) { throw .ended(.unanswered(.upstreamUnusableAnswer)) }
        guard history.transactions.isEmpty else { throw contradiction(.otherTransaction) }
        try await checkAppTransaction()
    }

    /// Returns the whole history: all pages, or the known pages with what is new since.
    private func history() async throws(Interruption) -> CustomerHistory {
        let resumed = interrupted.take(customer, verifiedBy: request.verifier)
        if let start = resumed ?? knownHistory {
            if let history = try await history(from: start, isResumed: resumed != nil) { return history }
        }
        guard let history = try await history(from: CustomerHistory(), isResumed: false) else {
            throw .ended(.unanswered(.upstreamRequestRefused))
        }
        return history
    }

    private var customer: InterruptedHistories.Customer {
        .init(bundleID: request.bundleID, environment: environment, transactionID: request.transactionID)
    }

    private var knownHistory: CustomerHistory? {
        guard let known = request.known, known.environment == Environment(environment),
            known.bundleID == request.bundleID
        else { return nil }
        return CustomerHistory(continuing: known)
    }

    /// Returns nil if Apple does not accept the revision. The pages before an interruption are kept for the next lookup.
    private func history(
        from start: CustomerHistory, isResumed: Bool
    ) async throws(Interruption) -> CustomerHistory? {
        var history = start
        for _ in 0..<ServerAPICustomerLookup.Limits.pages {
            let result = try await send(.transactionHistory, query: [(.revision, history.revision)])
            if case .refused(let error, _, _) = result, error.saysInvalidRevision { return nil }
            let page: ServerAPIAnswer
            do throws(Interruption) {
                page = try self.page(result)
            } catch {
                if error.mayPass, isResumed || history.revision != start.revision {
                    interrupted.keep(history, of: customer, verifiedBy: request.verifier)
                }
                throw error
            }
            guard history.add(page) else { break }
            if !page.hasMore { return history }
        }
        throw .ended(.unanswered(.upstreamUnusableAnswer))
    }

    /// Returns the statuses of the customer's subscriptions. The history was found before, so a refusal is a fault.
    private func statuses() async throws(Interruption) -> ServerAPIAnswer {
        do throws(Interruption) {
            return try page(await send(.subscriptionStatuses))
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            throw .ended(.unanswered(refusal.isUnauthorized ? .serverAPIKeyRejected : .upstreamUnavailable))
        }
    }

    /// Returns the consumables that the app has not finished, if they are needed: version 1 of the history lists them.
    private func unfinishedConsumables(
        in history: CustomerHistory
    ) async throws(Interruption) -> UnfinishedConsumables {
        guard request.listsUnfinishedConsumables else { return .notRequested }
        guard history.hasConsumables else { return .known([]) }
        var ids: Set<String> = [], revision: String?
        for _ in 0..<ServerAPICustomerLookup.Limits.pages {
            let page: ServerAPIAnswer
            switch try await send(
                .transactionHistoryV1, query: [(.productType, "CONSUMABLE"), (.revision, revision)])
            {
            // Apple may end this version, too.
            case .refused(let error, _, _) where !error.mayPass: return .unavailable
            case .unanswered(.upstreamRequestRefused, _, _): return .unavailable
            case let result: page = try self.page(result)
            }
            ids.formUnion(page.transactions.map(\.transactionID))
            guard page.hasMore else { return .known(ids) }
            guard let next = page.revision, next != revision else { return .unavailable }
            revision = next
        }
        return .unavailable
    }

    /// Checks that a customer without purchases exists: only an app transaction ID has an empty history.
    private func checkAppTransaction() async throws(Interruption) {
        let answer = try page(await send(.appTransactionInfo))
        guard answer.appTransaction?.appTransactionID == request.transactionID else {
            throw contradiction(.otherTransaction)
        }
    }

    /// Sends a call about the customer.
    private func send(
        _ operation: ServerAPIOperation, query: [(ServerAPIParameter, String?)] = []
    ) async throws(Interruption) -> ServerAPIResult {
        let call: ServerAPICall
        do throws(ServerAPICallFault) {
            call = try ServerAPICall(operation, [request.transactionID], query: query)
        } catch {
            // The ID, or a revision in Apple's answer, has a form that Apple does not document.
            let isInvalidID = error == .invalidPathParameter(.transactionID)
            throw .ended(isInvalidID ? .unknownTransaction(.idInvalid) : .unanswered(.upstreamUnusableAnswer))
        }
        let share: ServerAPIRequest.Share = request.hasEvidence ? .full : .withoutEvidence
        var sent = ServerAPIRequest(call, bundleID: request.bundleID, environment: environment, share: share)
        sent.verifier = request.verifier
        return await client.send(sent, deadline: deadline)
    }

    private func page(_ result: ServerAPIResult) throws(Interruption) -> ServerAPIAnswer {
        switch result {
        case .answered(let answer): return answer
        case .unauthorized(let key): throw .refused(.unauthorized(key))
        case .unanswered(.serverAPIKeyRejected, _, _): throw .refused(.unauthorized(nil))
        case .unanswered(let reason, _, _): throw .ended(.unanswered(reason))
        case .refused(let error, _, _):
            if let refusal = HostRefusals.Refusal(error) { throw .refused(refusal) }
            if error.saysInvalidID { throw .ended(.unknownTransaction(.idInvalid)) }
            throw .ended(.unanswered(error.mayPass ? .upstreamUnavailable : .upstreamRequestRefused))
        }
    }

    private func contradiction(_ contradiction: Contradiction) -> Interruption {
        client.report(contradiction, in: environment)
        return .ended(.unanswered(.upstreamContradiction))
    }
}

extension ReportedStatus {
    /// Returns the status, known at a time if that is later.
    fileprivate func notBefore(_ time: Timestamp?) -> ReportedStatus {
        ReportedStatus(state, at: max(date, time ?? date))
    }
}
