// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Apple's interfaces. The raw values are those of the API and of metrics.
public enum UpstreamAPI: String, CaseIterable, Hashable, Sendable {
    /// `POST /verifyReceipt`.
    case verifyReceipt = "verify_receipt"
}

/// Apple's environments. The raw values are those of the API and of metrics.
public enum UpstreamEnvironment: String, CaseIterable, Hashable, Sendable {
    /// The App Store.
    case production
    /// TestFlight, App Review and sandbox accounts.
    case sandbox
}

/// One of Apple's servers: an interface in an environment. Each has its own guards, budget, lifecycle and metrics.
public struct UpstreamEndpoint: Hashable, CaseIterable, Sendable {
    /// The interface.
    public let api: UpstreamAPI
    /// The environment.
    public let environment: UpstreamEnvironment

    /// Creates the endpoint of an interface in an environment.
    public init(_ api: UpstreamAPI, _ environment: UpstreamEnvironment) {
        self.api = api
        self.environment = environment
    }

    /// All endpoints, those of one interface together.
    public static let allCases = UpstreamAPI.allCases.flatMap { api in
        UpstreamEnvironment.allCases.map { UpstreamEndpoint(api, $0) }
    }

    /// The name in keys of the shared store. Those of `verifyReceipt` were there first and are environments alone: nodes of
    /// different versions share budgets and pauses.
    public var storedName: String {
        switch api {
        case .verifyReceipt: environment.rawValue
        }
    }
}

// MARK: - Choice

extension UpstreamAPI {
    /// Chooses the interface that answers for a subject. The one place that decides it.
    /// - Throws: The reason why none does.
    init(answeringFor subject: VerificationSubject) throws(UndecidedReason) {
        // Apple knows nothing of purchases that were made in Xcode.
        guard subject.environment != .xcode else { throw .environmentWithoutUpstream }
        guard subject.evidence?.receipt != nil else { throw .upstreamNotConfigured }
        self = .verifyReceipt
    }

    /// The endpoints to ask about a subject, in this order: the next one only if Apple refers to it.
    ///
    /// `verifyReceipt` is asked in production first, whatever the receipt says, as Apple's page about it demands.
    var endpoints: [UpstreamEndpoint] {
        switch self {
        case .verifyReceipt: [UpstreamEndpoint(self, .production), UpstreamEndpoint(self, .sandbox)]
        }
    }

    /// The endpoint that a subject belongs to.
    func endpoint(of subject: VerificationSubject) -> UpstreamEndpoint {
        UpstreamEndpoint(self, subject.environment == .sandbox ? .sandbox : .production)
    }
}
