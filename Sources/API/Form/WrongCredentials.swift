// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Gateway
internal import HTTPServer
internal import Resilience
internal import Telemetry

/// Limits requests of the form API with a wrong key or token, which may be guesses: per address, and wrong tokens also
/// per account.
///
/// A right pair is never refused here. Otherwise anyone with the key of an app could shut its account.
package struct WrongCredentials: Sendable {
    private let admission: ClientAdmission
    private let charging: RequestCharging

    enum Limits {
        /// Wrong requests of one address, or IPv6 /64.
        static let address = RatePolicy(name: "wrong-credentials", quota: 60, window: .seconds(60))
        /// Requests with one account's key and a wrong token.
        static let account = RatePolicy(name: "wrong-tokens", quota: 600, window: .seconds(60))
        /// The owner of the buckets.
        static let client = "form API"
    }

    package init(admission: ClientAdmission, charging: RequestCharging) {
        self.admission = admission
        self.charging = charging
    }

    /// Throws the same problem for every fault, or that a limit is exceeded.
    func refuse(_ fault: FormCredentialFault, in context: RequestContext) throws -> VerifyHandler.Progress {
        charging.metrics.count(fault)
        guard case .token(let client) = fault else { return try refuse(.wrongFormCredentials, in: context) }
        context.record { $0.client = client.name }
        let account = RateBucket(client: Limits.client, policy: Limits.account, subject: client.name)
        return try refuse(.wrongFormCredentials, in: context, also: [RateCharge(account)])
    }

    /// Throws the problem of a request without usable credentials, or that its address sends too many.
    func refuse(
        _ problem: Problem, in context: RequestContext, also charges: [RateCharge] = []
    ) throws -> VerifyHandler.Progress {
        let address = charging.address(of: context)?.subscriber ?? ""
        let bucket = RateBucket(client: Limits.client, policy: Limits.address, subject: address)
        let sender = RequestClient(charges: [RateCharge(bucket)] + charges) { [metrics = charging.metrics] in
            metrics.count($0, under: [])
        }
        return try admission.charge(sender) { throw problem }
    }

    /// Throws the problem of a request whose credentials are right, and which costs what any request costs.
    func refuse(_ problem: Problem, to client: Client, in context: RequestContext) throws -> VerifyHandler.Progress {
        try admission.charge(charging.requestClient(of: client, in: context)) { throw problem }
    }
}
