// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Gateway
internal import HTTPServer
package import Resilience
package import Telemetry

/// Charges requests to their clients, and records the decision for header fields, log and metrics.
package struct RequestCharging: Sendable {
    let admission: ClientAdmission
    private let addresses: RemoteAddressRule
    /// True if answers also carry the older `X-RateLimit` fields.
    private let sendsLegacyFields: Bool
    let metrics: LimitMetrics

    package init(
        _ admission: ClientAdmission, addresses: RemoteAddressRule = RemoteAddressRule(),
        sendsLegacyFields: Bool = false, metrics: LimitMetrics
    ) {
        (self.admission, self.addresses) = (admission, addresses)
        (self.sendsLegacyFields, self.metrics) = (sendsLegacyFields, metrics)
    }

    /// Returns the client of a request that was read: its permitted apps, and the buckets and concurrency slots it takes
    /// from.
    func requestClient(
        of client: Client, asking options: VerificationOptions, isLong: Bool = false, in context: RequestContext
    ) -> RequestClient {
        requestClient(
            of: client, under: client.limits.policies, unknownIDs: options.isLookup ? client.chargeForUnknownID : nil,
            isLong: isLong, in: context
        ) {
            client.charges(for: options, from: address(of: context))
        }
    }

    /// Returns the client of a request that was not read: only the limits that do not depend on the app.
    func requestClient(of client: Client, in context: RequestContext) -> RequestClient {
        requestClient(of: client, under: client.limits.policiesWithoutApp, in: context) {
            client.charges(from: address(of: context))
        }
    }

    private func requestClient(
        of client: Client, under policies: [ClientPolicy], unknownIDs: RateCharge? = nil, isLong: Bool = false,
        in context: RequestContext, charges: () -> [RateCharge]
    ) -> RequestClient {
        let inFlight = isLong ? nil : client.limits.concurrency.map { InFlightLimit(client: client.name, maximum: $0) }
        // A closure that is never called would be an allocation.
        guard !policies.isEmpty || unknownIDs != nil else {
            return RequestClient(permittedApps: client.apps, inFlight: inFlight)
        }
        var onUnknownIDs: @Sendable (RateAdmission) -> Void = { _ in }
        if unknownIDs != nil { onUnknownIDs = { record($0, under: [], in: context) } }
        return RequestClient(
            permittedApps: client.apps, charges: policies.isEmpty ? [] : charges(),
            onAdmission: { record($0, under: policies, in: context) }, inFlight: inFlight, unknownIDs: unknownIDs,
            onUnknownIDs: onUnknownIDs)
    }

    /// Returns the sender of a request without an API key, charged by its address, and to other buckets.
    /// - Parameter owner: the owner of the address's bucket.
    func sender(
        of context: RequestContext, under policy: RatePolicy, of owner: String, also charges: [RateCharge] = []
    ) -> RequestClient {
        let bucket = RateBucket(client: owner, policy: policy, subject: address(of: context)?.source.description ?? "")
        return sender(charges: [RateCharge(bucket)] + charges)
    }

    func sender(charges: [RateCharge]) -> RequestClient {
        RequestClient(charges: charges, onAdmission: { [metrics] in metrics.count($0, under: []) })
    }

    /// Returns the address that a request counts for; nil if the connection has none.
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

    // MARK: - Requests that verify nothing

    /// Reads a request, and does its work once the client has tokens and a concurrency slot. A request that is wrong is
    /// charged, too.
    func admit(
        _ context: RequestContext, isLong: Bool = false, _ read: () throws -> ChargedWork
    ) throws -> Step<Reply, any Error> {
        let work: ChargedWork
        do {
            work = try read()
        } catch {
            return try refuse(error, to: context.client, in: context)
        }
        return try admit(context, about: work.bundleID, isLong: isLong, work.run)
    }

    /// Does the work of a request, which costs what a local verification costs.
    /// - Parameters:
    ///   - bundleID: the app whose limits count, too; nil for a request about no app.
    ///   - isLong: true for work of minutes, which takes no slot: it would keep verifications out.
    func admit(
        _ context: RequestContext, about bundleID: String?, isLong: Bool,
        _ work: @escaping @Sendable () async throws -> Reply
    ) throws -> Step<Reply, any Error> {
        let options = VerificationOptions(costing: .local, bundleID)
        let client = requestClient(of: context.client, asking: options, isLong: isLong, in: context)
        return try admission.admit(client) { .wait { .done(try await work()) } }
    }

    /// Charges a request that was not read, then throws its error.
    func refuse(_ error: any Error, to client: Client, in context: RequestContext) throws -> Step<Reply, any Error> {
        try admission.charge(requestClient(of: client, in: context)) { throw error }
    }
}

/// The work of a request that was read and is permitted.
struct ChargedWork {
    /// The app whose limits count, too; nil for a request about no app.
    let bundleID: String?
    let run: @Sendable () async throws -> Reply
}

extension VerificationOptions {
    /// Creates options with the mode and the app that a request is charged by.
    init(costing mode: Mode, _ bundleID: String?) {
        self.init()
        self.mode = mode
        expectations.bundleID = bundleID
    }
}

/// A limiter that counts the requests it refuses.
package struct MeteredInFlightLimiter: InFlightLimiter {
    let slots: any InFlightLimiter
    let metrics: LimitMetrics

    package init(slots: any InFlightLimiter, metrics: LimitMetrics) {
        (self.slots, self.metrics) = (slots, metrics)
    }

    package func acquire(_ limit: InFlightLimit) -> Bool {
        let hasSlot = slots.acquire(limit)
        if !hasSlot { metrics.countTooManyInFlight() }
        return hasSlot
    }

    package func release(_ limit: InFlightLimit) { slots.release(limit) }
}
