// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Receipts
import Synchronization

@testable import Gateway

extension VerificationService {
    /// Answers one request, waiting as long as it takes; nothing was known before.
    func verify(_ request: VerificationRequest, at now: Timestamp) async throws(GatewayError) -> Answer {
        guard case .answered(let answer) = try await begin(request, at: now).outcome() else {
            preconditionFailure("nothing was known")
        }
        return answer
    }
}

/// A service whose answers are known when the same question comes again, as in the server.
final class RememberingService: Sendable {
    private struct Known: Sendable {
        let terms: KnownAnswer
        let again: Answer
    }

    private let service: VerificationService
    private let known = Mutex<[String: Known]>([:])

    init(_ service: VerificationService) {
        self.service = service
    }

    func verify(_ request: VerificationRequest, at now: Timestamp) async throws(GatewayError) -> Answer {
        let key = request.sameness
        let before = known.withLock { $0[key] }
        if let before, try service.repeats(before.terms, to: request.question, from: request.caller, at: now) {
            return before.again
        }
        switch (try await service.begin(request, knowing: before?.terms, at: now).outcome(), before) {
        case (.answered(let answer), _):
            if let terms = KnownAnswer(answer, at: now) {
                known.withLock { $0[key] = Known(terms: terms, again: answer.again) }
            }
            return answer
        case (.repeated, let before?): return before.again
        case (.repeated, nil): preconditionFailure("nothing was known")
        }
    }
}

extension VerificationRequest {
    /// Evidence and question, and not who asks.
    fileprivate var sameness: String {
        guard case .appReceipt(let bytes) = evidence else { return "" }
        return
            "\(bytes) \(question.expectations) \(question.mode) \(question.maximumAge ?? .zero) \(question.excludesOldTransactions)"
    }
}
