// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
package import Gateway
internal import HTTPServer
package import Receipts
internal import Resilience

/// The attempts of deferred verifications, with the apps and the policies that their clients have by then.
package struct VerificationRunner: JobRunner {
    enum Limits {
        /// The time to wait for Apple, less than `JobDispatcher` gives an attempt.
        static let wait: Duration = .seconds(25)
    }

    private let verification: VerificationService
    private let store: any JobStore
    private let access: CurrentAccess
    private let ownership: OwnershipCheck?
    private let clock: @Sendable () -> Timestamp

    package init(
        _ verification: VerificationService, store: any JobStore, access: CurrentAccess, ownership: OwnershipCheck?,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.verification, self.store, self.access) = (verification, store, access)
        (self.ownership, self.clock) = (ownership, clock)
    }

    package func run(_ job: VerificationJob, _ request: JobRequest) async -> JobOutcome {
        guard let client = access.now.client(named: job.client) else { return .impossible }
        var options = request.options.verificationOptions
        options.waitLimit = Limits.wait
        let repetition = VerificationRequest(request.subject, options: options, client: requester(client, request))
        let now = clock()
        do {
            let answer = try await verification.answer(repetition, at: now).value()
            return try await outcome(of: job, answer, to: repetition.options, of: client, at: now)
        } catch let error as GatewayError {
            switch error {
            case .appNotPermitted, .appMissing: return .impossible
            // Until the operator adds the app's key, or the client's bucket of unknown IDs has a token.
            case .serverAPINotConfigured, .rateLimited, .tooManyInFlight: return .waiting(job.result, .request(nil))
            }
        } catch {
            return .waiting(job.result, .request(nil))
        }
    }

    /// Returns the client of an attempt, which is charged for an ID that Apple does not know: otherwise a client could
    /// guess by deferred lookups without a limit. Other limits were the request's.
    private func requester(_ client: Client, _ request: JobRequest) -> RequestClient {
        let isLookup = request.subject.kind == .transactionID
        return RequestClient(permittedApps: client.apps, unknownIDs: isLookup ? client.chargeForUnknownID : nil)
    }

    private func outcome(
        of job: VerificationJob, _ answer: Answer, to options: VerificationOptions, of client: Client,
        at now: Timestamp
    ) async throws -> JobOutcome {
        // An erased job must not bind its purchase again.
        if options.account != nil, (try? await store.statuses(of: [job.id])) != [.waiting] {
            return .waiting(job.result, .request(nil))
        }
        let owned = await ownership.check(answer, for: options.account, of: client)
        var reply = VerdictEndpoint().replies(to: options, with: owned.answer, at: now).first
        reply.addOwnership(owned.ownership)
        var result = JobResult(owned.answer, json: reply.body.bytes)
        // Neither an undecided answer nor a rejection says anything about the purchase.
        result.environment = result.environment ?? job.result.environment
        result.bundleID = result.bundleID ?? job.result.bundleID
        if result.originalTransactionIDs.isEmpty { result.originalTransactionIDs = job.result.originalTransactionIDs }
        return owned.answer.isFinal
            ? .decided(result) : .waiting(result, JobObstacle(owned.answer.provenance.degradedReasons))
    }
}

extension JobObstacle {
    /// - Parameter reasons: of an answer that is not final.
    init(_ reasons: [DegradedReason]) {
        // A call of one interface is an attempt, whatever holds back the other interface.
        if let first = reasons.first, reasons.allSatisfy({ $0.facts.cause == .guards }) {
            self = .upstream(first)
        } else {
            self = .request(reasons.first { $0.facts.cause != .guards })
        }
    }
}
