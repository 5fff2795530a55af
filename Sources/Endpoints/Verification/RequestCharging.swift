// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
package import RateLimits
package import Settings
package import Telemetry

/// Charges requests to their clients, and takes note of what came of it: for the header fields, the log and the metrics.
package struct RequestCharging: Sendable {
    /// Where requests come from.
    var addresses = RemoteAddressRule()
    /// Whether answers carry the header fields of old as well.
    var sendsLegacyFields = false
    /// Counts decisions.
    let metrics: LimitMetrics

    /// Creates the rules of one listener.
    package init(
        addresses: RemoteAddressRule = RemoteAddressRule(), sendsLegacyFields: Bool = false, metrics: LimitMetrics
    ) {
        self.addresses = addresses
        self.sendsLegacyFields = sendsLegacyFields
        self.metrics = metrics
    }

    /// The client as one that asks this: what it may know, and whose buckets and places it takes from.
    package func caller(asking options: VerificationOptions, in context: RequestContext) -> Caller {
        let limits = context.client.limits
        var caller = Caller(permittedApps: context.client.apps)
        caller.inFlight = context.client.inFlightLimit
        guard !limits.policies.isEmpty else { return caller }
        caller.charges = context.client.charges(for: options, from: address(of: context))
        caller.onAdmission = { note($0, by: limits.policies, in: context) }
        return caller
    }

    /// The client as one whose question is not known yet, or never will be: what is taken from whom whatever it asks.
    package func sender(of context: RequestContext) -> Caller {
        let policies = context.client.limits.policiesWithoutApp
        var caller = Caller(permittedApps: context.client.apps)
        caller.inFlight = context.client.inFlightLimit
        guard !policies.isEmpty else { return caller }
        caller.charges = context.client.charges(from: address(of: context))
        caller.onAdmission = { note($0, by: policies, in: context) }
        return caller
    }

    private func address(of context: RequestContext) -> NetworkAddress? {
        addresses.address(from: context.peer.address, context.header)
    }

    private func note(_ admission: RateAdmission, by policies: [ClientPolicy], in context: RequestContext) {
        metrics.count(admission, under: policies)
        context.rateLimitFields = Array(RateLimitFields(admission).fields(withLegacy: sendsLegacyFields))
        context.record { facts in
            facts.limitedInShadowBy = admission.policies { $0.decision.isRefusal && !$0.isEnforcedRefusal }
        }
    }
}

extension Client {
    /// The limit of its requests in flight; nil for none.
    fileprivate var inFlightLimit: InFlightLimit? {
        limits.concurrency.map { InFlightLimit(tenant: name, maximum: $0) }
    }
}

/// Counts the requests that get no slot.
package struct MeteredInFlightLimiter: InFlightLimiter {
    let slots: any InFlightLimiter
    let metrics: LimitMetrics

    /// Creates a limiter that counts what it refuses.
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
