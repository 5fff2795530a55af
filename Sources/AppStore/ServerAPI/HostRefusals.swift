// SPDX-License-Identifier: Apache-2.0

internal import Gateway

/// The refusals of the hosts that were called about a customer, in order, and what they mean together.
struct HostRefusals: Sendable {
    enum Refusal: Hashable, Sendable {
        /// A 401, or the pause after a 401: the app was never released in this environment, or the key is wrong. With
        /// the rejected key; nil during the pause.
        case unauthorized(ServerAPIKey?)
        case accountNotFound
        case notFound

        /// Nil for an error that another host would not answer better.
        init?(_ error: ServerAPIError) {
            guard error.mayBeOtherEnvironment else { return nil }
            self = error.saysAccountNotFound ? .accountNotFound : .notFound
        }

        var isUnauthorized: Bool { if case .unauthorized = self { true } else { false } }
    }

    private var refusals: [(environment: UpstreamEnvironment, refusal: Refusal)] = []

    mutating func append(_ refusal: Refusal, of environment: UpstreamEnvironment) {
        refusals.append((environment, refusal))
    }

    /// The keys to pause, and the hosts that rejected them; empty if a host accepted its key.
    var rejections: [(key: ServerAPIKey, environment: UpstreamEnvironment)] {
        guard refusals.allSatisfy({ $0.refusal.isUnauthorized }) else { return [] }
        return refusals.compactMap { environment, refusal in
            if case .unauthorized(let key?) = refusal { (key, environment) } else { nil }
        }
    }

    /// The result if no host knows the customer.
    ///
    /// A 401 from production alone means an app that is not released. A 401 from the sandbox does not: the key is wrong
    /// there, and the transaction may be the sandbox's.
    var result: UpstreamResult {
        guard let last = refusals.last, !last.refusal.isUnauthorized else { return .unanswered(.serverAPIKeyRejected) }
        // A host that was not called may know the customer.
        if refusals.contains(where: { $0.refusal == .unauthorized(nil) }) { return .unanswered(.serverAPIKeyRejected) }
        let first = refusals.first { !$0.refusal.isUnauthorized }
        return first?.refusal == .accountNotFound ? .accountNotFound : .unknownTransaction(.notFound)
    }
}
