// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import Hummingbird

/// Charges requests to their clients, and takes note of what came of it: for the header fields, the log and the metrics.
struct RequestCharging: Sendable {
    /// Where requests come from.
    var addresses = RemoteAddressRule()
    /// Whether answers carry the header fields of old as well.
    var sendsLegacyFields = false
    /// Counts decisions.
    let metrics: LimitMetrics

    /// The client as one that asks this: what it may know, and whose buckets and places it takes from.
    func caller(asking question: Question, in sent: SentRequest) -> Caller {
        let limits = sent.client.limits
        var caller = Caller(permittedApps: sent.client.apps)
        caller.inFlight = sent.client.inFlightLimit
        guard !limits.policies.isEmpty else { return caller }
        caller.charges = sent.client.charges(for: question, from: address(of: sent))
        caller.onAdmission = { [outcome = sent.outcome] in note($0, by: limits.policies, in: outcome) }
        return caller
    }

    /// The client as one whose question is not known yet, or never will be: what is taken from whom whatever it asks.
    func sender(of sent: SentRequest) -> Caller {
        let policies = sent.client.limits.policiesWithoutApp
        var caller = Caller(permittedApps: sent.client.apps)
        caller.inFlight = sent.client.inFlightLimit
        guard !policies.isEmpty else { return caller }
        caller.charges = sent.client.charges(from: address(of: sent))
        caller.onAdmission = { [outcome = sent.outcome] in note($0, by: policies, in: outcome) }
        return caller
    }

    private func address(of sent: SentRequest) -> NetworkAddress? {
        addresses.address(from: sent.peer.address, sent.header.fields)
    }

    private func note(_ admission: RateAdmission, by policies: [ClientPolicy], in outcome: RequestOutcome) {
        metrics.count(admission, under: policies)
        outcome.rateLimitFields = RateLimitFields(admission).fields(withLegacy: sendsLegacyFields)
        outcome.record { facts in
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

extension RateAdmission {
    /// The names of the policies with such an outcome.
    func policies(where isMeant: (Outcome) -> Bool) -> [String] {
        outcomes.filter(isMeant).map(\.charge.bucket.policy.name)
    }
}

/// Counts the requests that find no place.
struct CountedPlaces: InFlightLimiter {
    let places: any InFlightLimiter
    let metrics: LimitMetrics

    func enter(_ limit: InFlightLimit) -> Bool {
        let hasPlace = places.enter(limit)
        if !hasPlace { metrics.countTooManyInFlight() }
        return hasPlace
    }

    func leave(_ limit: InFlightLimit) { places.leave(limit) }
}

/// Puts what a client is told of its limits on every answer to a request that was charged, problems included.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = GatewayRequestContext

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers.append(contentsOf: context.outcome.rateLimitFields)
        return response
    }
}
