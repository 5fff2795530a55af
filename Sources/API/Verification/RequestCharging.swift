// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Gateway
package import HTTPServer
package import Resilience
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
    package func requestClient(
        of client: Client, asking options: VerificationOptions, in context: RequestContext
    ) -> RequestClient {
        var charged = requestClient(of: client, under: client.limits.policies, in: context) {
            client.charges(for: options, from: address(of: context))
        }
        guard options.isLookup else { return charged }
        charged.unknownIDs = client.chargeForUnknownID
        charged.onUnknownIDs = { record($0, under: [], in: context) }
        return charged
    }

    /// Returns the client of a request that was not read: only the limits that do not depend on the app.
    package func requestClient(of client: Client, in context: RequestContext) -> RequestClient {
        requestClient(of: client, under: client.limits.policiesWithoutApp, in: context) {
            client.charges(from: address(of: context))
        }
    }

    private func requestClient(
        of client: Client, under policies: [ClientPolicy], in context: RequestContext, charges: () -> [RateCharge]
    ) -> RequestClient {
        let inFlight = client.limits.concurrency.map { InFlightLimit(client: client.name, maximum: $0) }
        guard !policies.isEmpty else { return RequestClient(permittedApps: client.apps, inFlight: inFlight) }
        return RequestClient(
            permittedApps: client.apps, charges: charges(),
            onAdmission: { record($0, under: policies, in: context) }, inFlight: inFlight)
    }

    /// Returns the address that a request counts for; nil if the connection has none.
    func address(of context: RequestContext) -> NetworkAddress? {
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

/// The work of a request that was read and is permitted, but neither verifies nor calls Apple.
struct ChargedWork {
    /// The app whose limits count, too; nil for a request about no app.
    let bundleID: String?
    let run: @Sendable () async throws -> Reply

    init(about bundleID: String?, _ run: @escaping @Sendable () async throws -> Reply) {
        (self.bundleID, self.run) = (bundleID, run)
    }
}

extension ClientAdmission {
    /// Reads a request, and does its work once the client has tokens and a concurrency slot. A request that is wrong is
    /// charged, too.
    /// - Parameter isLong: true for work of minutes, which takes no slot: it would keep verifications out.
    func admit(
        _ context: RequestContext, _ charging: RequestCharging, isLong: Bool = false, _ read: () throws -> ChargedWork
    ) throws -> Step<Reply, any Error> {
        let work: ChargedWork
        do {
            work = try read()
        } catch {
            return try charge(charging.requestClient(of: context.client, in: context)) { throw error }
        }
        let options = VerificationOptions.withoutApple(work.bundleID)
        var client = charging.requestClient(of: context.client, asking: options, in: context)
        if isLong { client.inFlight = nil }
        return try admit(client) { .wait { .done(try await work.run()) } }
    }
}

extension VerificationOptions {
    /// Returns the options whose cost a request has that neither verifies nor calls Apple.
    static func withoutApple(_ bundleID: String?) -> VerificationOptions {
        var options = VerificationOptions()
        options.mode = .local
        options.expectations.bundleID = bundleID
        return options
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
