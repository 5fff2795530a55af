// SPDX-License-Identifier: Apache-2.0

import Receipts
import Resilience
import Synchronization

@testable import Gateway

extension VerificationService {
    /// Answers one request of a client without limits.
    func verify(_ request: VerificationRequest, at now: Timestamp) async throws -> Answer {
        try request.options.checkExpectedApp(among: request.client.permittedApps)
        return try await answer(request, at: now).value()
    }
}

/// A service that limits clients and repeats its answers, as the server does.
final class RememberingService: Sendable {
    private struct Known: Sendable {
        let validity: AnswerValidity
        let repeated: Answer
    }

    private let service: VerificationService
    private let admission: ClientAdmission
    private let known = Mutex<[String: Known]>([:])

    init(
        _ service: VerificationService, rates: any RateLimiter = EmbeddedRateLimiter(),
        slots: any InFlightLimiter = EmbeddedInFlightLimiter()
    ) {
        self.service = service
        admission = ClientAdmission(rates: rates, slots: slots)
    }

    func verify(_ request: VerificationRequest, at now: Timestamp) async throws -> Answer {
        try request.options.checkExpectedApp(among: request.client.permittedApps)
        return try await admission.admit(request.client) { try self.answer(request, at: now) }.value()
    }

    private func answer(_ request: VerificationRequest, at now: Timestamp) throws -> Step<Answer, any Error> {
        let key = request.sameness
        if let before = known.withLock({ $0[key] }),
            before.validity.isValid(at: now, maximumAge: request.options.maximumAge)
        {
            try before.validity.checkApp(among: request.client.permittedApps)
            return .done(before.repeated)
        }
        return try service.answer(request, at: now).map { answer in
            if let validity = AnswerValidity(answer, at: now) {
                self.known.withLock { $0[key] = Known(validity: validity, repeated: answer.repeated) }
            }
            return answer
        }
    }
}

extension VerificationRequest {
    /// The key of repeated answers: subject and parameters, without the client.
    fileprivate var sameness: String {
        switch subject {
        case .evidence(.appReceipt(let bytes)), .evidence(.transactionReceipt(let bytes)): "\(bytes) \(parameters)"
        case .evidence(.jws), .evidence(.signedTransactions): ""
        case .transactionID(let id): "\(id) \(parameters)"
        }
    }

    private var parameters: String {
        "\(options.expectations) \(options.mode) \(options.maximumAge ?? .zero) \(options.excludesOldTransactions)"
    }
}

extension FleetPorts {
    /// The ports of a fleet of one node.
    static func embedded() -> FleetPorts {
        FleetPorts(
            cache: EmbeddedUpstreamCache(maximumBytes: 1 << 20), limiter: EmbeddedRateLimiter(),
            leases: EmbeddedFlightLeases(), fleetState: EmbeddedFleetState())
    }
}
