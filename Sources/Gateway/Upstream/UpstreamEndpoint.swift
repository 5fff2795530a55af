// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Apple's interfaces. The raw values appear in the API and in metrics.
package enum UpstreamAPI: String, CaseIterable, Hashable, Sendable {
    /// `POST /verifyReceipt`.
    case verifyReceipt = "verify_receipt"
    case serverAPI = "server_api"

    var source: Provenance.Source {
        switch self {
        case .verifyReceipt: .apple
        case .serverAPI: .serverAPI
        }
    }

    /// The endpoints for a subject, in order: the next endpoint only if Apple refers to it.
    ///
    /// `verifyReceipt` starts with production for every receipt, as Apple's page about it requires.
    package var endpoints: [UpstreamEndpoint] {
        [UpstreamEndpoint(self, .production), UpstreamEndpoint(self, .sandbox)]
    }

    func endpoint(of subject: VerificationSubject) -> UpstreamEndpoint {
        UpstreamEndpoint(self, UpstreamEnvironment(subject.environment ?? .production))
    }
}

/// The interfaces that the operator permits for receipts; signed transactions and transaction IDs need the Server API. The
/// raw values appear in the configuration.
package enum ReceiptUpstream: String, CaseIterable, Hashable, Sendable {
    case verifyReceipt = "verify_receipt"
    case serverAPI = "server_api"
    /// `verifyReceipt` until shortly before its end, and then the Server API. Each replaces the other if it does not answer.
    case both
}

/// Apple's environments. The raw values appear in the API, in metrics, and in keys and jobs of the store.
package enum UpstreamEnvironment: String, CaseIterable, Hashable, Sendable {
    case production
    /// TestFlight, App Review and sandbox accounts.
    case sandbox

    /// The environment of Apple's servers for purchases of an environment.
    package init(_ environment: Environment) { self = environment == .sandbox ? .sandbox : .production }
}

extension Environment {
    package init(_ environment: UpstreamEnvironment) { self = environment == .production ? .production : .sandbox }
}

/// One of Apple's servers: an interface in an environment. Each has its own guards, budget, lifecycle and metrics.
package struct UpstreamEndpoint: Hashable, CaseIterable, Sendable {
    package let api: UpstreamAPI
    package let environment: UpstreamEnvironment

    package init(_ api: UpstreamAPI, _ environment: UpstreamEnvironment) {
        self.api = api
        self.environment = environment
    }

    package static let allCases = UpstreamAPI.allCases.flatMap(\.endpoints)

    /// The name in keys of the shared store. For `verifyReceipt` it is the environment alone, as in older versions, so
    /// that nodes of different versions share budgets and pauses.
    package var storedName: String {
        switch api {
        case .verifyReceipt: environment.rawValue
        case .serverAPI: "\(api.rawValue):\(environment.rawValue)"
        }
    }
}
