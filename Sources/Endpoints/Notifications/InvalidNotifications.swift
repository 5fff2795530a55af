// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import HTTPServer
internal import RateLimits
internal import Settings
internal import Telemetry
internal import Waiting

/// Limits invalid notifications per address: each costs a verification. Genuine ones are never charged.
package struct InvalidNotifications: Sendable {
    private let admission: ClientAdmission
    private let charging: RequestCharging

    enum Limits {
        /// Invalid notifications of one address, or IPv6 /64.
        static let address = RatePolicy(name: "invalid-notifications", quota: 600, window: .seconds(60))
        /// The owner of the buckets.
        static let client = "notifications"
    }

    package init(admission: ClientAdmission, charging: RequestCharging) {
        self.admission = admission
        self.charging = charging
    }

    /// Throws `GatewayError` for a request from an address that is known to be over the limit.
    func refuseIfLimited(_ context: RequestContext) throws(GatewayError) {
        try admission.refuseIfLimited(sender(of: context))
    }

    /// Throws the reason to refuse a request, or that its address sends too many such requests.
    func refuse(_ reason: any Error, in context: RequestContext) throws -> Step<Reply, any Error> {
        try admission.charge(sender(of: context)) { throw reason }
    }

    private func sender(of context: RequestContext) -> RequestClient {
        let address = charging.address(of: context)?.subscriber ?? ""
        return RequestClient(
            charges: [RateCharge(RateBucket(client: Limits.client, policy: Limits.address, subject: address))],
            onAdmission: { [metrics = charging.metrics] in metrics.count($0, under: []) })
    }
}
