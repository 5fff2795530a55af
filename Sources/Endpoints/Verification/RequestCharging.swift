// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
package import RateLimits
package import Settings
package import Telemetry

/// Charges requests to their clients, and records the decision for header fields, log and metrics.
package struct RequestCharging: Sendable {
    /// The rule for the address a request comes from.
    var addresses = RemoteAddressRule()
    /// True if answers also carry the older `X-RateLimit` fields.
    var sendsLegacyFields = false
    let metrics: LimitMetrics

    package init(
        addresses: RemoteAddressRule = RemoteAddressRule(), sendsLegacyFields: Bool = false, metrics: LimitMetrics
    ) {
        self.addresses = addresses
        self.sendsLegacyFields = sendsLegacyFields
        self.metrics = metrics
    }

    /// Returns the client of a request that was read: its permitted apps, and the buckets and concurrency slots it takes
    /// from.
    package func client(for options: VerificationOptions, in context: RequestContext) -> RequestClient {
        client(of: context, under: context.client.limits.policies) {
            context.client.charges(for: options, from: address(of: context))
        }
    }

    /// Returns the client of a request that was not read: only the limits that do not depend on the app.
    package func client(of context: RequestContext) -> RequestClient {
        client(of: context, under: context.client.limits.policiesWithoutApp) {
            context.client.charges(from: address(of: context))
        }
    }

    private func client(
        of context: RequestContext, under policies: [ClientPolicy], charges: () -> [RateCharge]
    ) -> RequestClient {
        var client = RequestClient(permittedApps: context.client.apps)
        client.inFlight = context.client.limits.concurrency.map {
            InFlightLimit(client: context.client.name, maximum: $0)
        }
        guard !policies.isEmpty else { return client }
        client.charges = charges()
        client.onAdmission = { record($0, under: policies, in: context) }
        return client
    }

    private func address(of context: RequestContext) -> NetworkAddress? {
        addresses.address(from: context.peer, context.header)
    }

    private func record(_ admission: RateAdmission, under policies: [ClientPolicy], in context: RequestContext) {
        metrics.count(admission, under: policies)
        context.rateLimitFields = Array(admission.fields(withLegacy: sendsLegacyFields))
        context.record { details in
            details.limitedInShadowBy = admission.policies { $0.isRefusal && !$0.isEnforcedRefusal }
        }
    }
}

/// A limiter that counts the requests it refuses.
package struct MeteredInFlightLimiter: InFlightLimiter {
    let slots: any InFlightLimiter
    let metrics: LimitMetrics

    package init(slots: any InFlightLimiter, metrics: LimitMetrics) {
        self.slots = slots
        self.metrics = metrics
    }

    package func acquire(_ limit: InFlightLimit) -> Bool {
        let hasSlot = slots.acquire(limit)
        if !hasSlot { metrics.countTooManyInFlight() }
        return hasSlot
    }

    package func release(_ limit: InFlightLimit) { slots.release(limit) }
}
