// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import Receipts

/// An endpoint at which receipts are verified, behind the router.
struct VerifyRoute<Endpoint: VerifyEndpoint>: Sendable {
    /// What callers write and read.
    let endpoint: Endpoint
    /// Tells who asks.
    let access: CurrentAccess
    /// Has requests answered.
    let desk: VerifyDesk
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp

    /// Has a request answered, waiting as long as it takes.
    func respond(to request: Request, context: GatewayRequestContext) async throws -> Response {
        var progress = try await begin(request, context)
        while true {
            switch progress {
            case .replied(let reply): return Response(reply)
            case .verifying(let rest): progress = try rest()
            case .waiting(let rest): return Response(try await rest())
            }
        }
    }

    /// On its own, so that nothing here holds the body while the answer is waited for.
    private func begin(_ request: Request, _ context: GatewayRequestContext) async throws -> VerifyDesk.Progress {
        let now = clock()
        let client = try access.now.authenticator.client(for: request.headers, at: now)
        let body = ReservedBody(try await request.body.whole(), RoutedReservation.current?.take())
        let sent = SentRequest(from: client, request.headers, peer: context.peer, outcome: context.outcome)
        return try desk.begin(sent, body, at: endpoint, now: now)
    }
}

extension Route {
    /// The route to an endpoint at which receipts are verified.
    init(
        verifyingAt endpoint: some VerifyEndpoint, for access: CurrentAccess, _ desk: VerifyDesk,
        _ clock: @escaping @Sendable () -> Timestamp
    ) {
        let route = VerifyRoute(endpoint: endpoint, access: access, desk: desk, clock: clock)
        self.init(method: .post, path: endpoint.path, respond: route.respond)
    }
}
