// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1
internal import Synchronization

/// One URL of a receiver: its keys, its fault, and the counts of its deliveries.
final class ReceiverEndpoint: Sendable {
    enum Content: String, CaseIterable, Hashable, Sendable {
        case events
        /// Apple's own bodies. They are signed if there are keys, and have no CloudEvents attributes.
        case relay
    }

    struct Plan: Sendable {
        /// The last part of the URL.
        var name: String
        /// The port; 0 for any free port.
        var port = 0
        /// The accepted keys: any must have signed; without keys, no signature is checked.
        var keys: [WebhookVerifier] = []
        var content = Content.events
        /// The newest deliveries that are kept whole.
        var keeps = 0
    }

    private struct State {
        var tally = DeliveryTally()
        var fault = ReceiverFault.none
        /// The number of requests with the fault; nil for all.
        var remaining: Int?
        var deliveries: [ReceivedDelivery] = []
    }

    let plan: Plan
    private let state = Mutex(State())

    init(_ plan: Plan) {
        self.plan = plan
    }

    var name: String { plan.name }
    var path: String { "/" + plan.name }
    var tally: DeliveryTally { state.withLock(\.tally) }
    /// The newest deliveries that were taken, oldest first.
    var deliveries: [ReceivedDelivery] { state.withLock(\.deliveries) }
    var fault: ReceiverFault { state.withLock(\.fault) }

    /// Replaces the fault.
    /// - Parameter requests: the number of requests with it; nil for all.
    func set(_ fault: ReceiverFault, requests: Int? = nil) {
        state.withLock { ($0.fault, $0.remaining) = (fault, requests) }
    }

    /// Counts from zero, and forgets all IDs.
    func reset() {
        state.withLock { ($0.tally, $0.deliveries) = (DeliveryTally(), []) }
    }

    /// Decides about a request, and returns the response.
    /// - Parameters:
    ///   - body: nil if it exceeded the limit.
    ///   - now: in seconds since 1970.
    func respond(to head: HTTPRequestHead, _ body: [UInt8]?, at now: Int64) -> ReceiverResponse {
        guard head.uri == path else { return refuse(\.elsewhere, ReceiverResponse(status: .notFound)) }
        state.withLock { $0.tally.count(\.requests) }
        guard let body else { return refuse(\.malformed, ReceiverResponse(status: .payloadTooLarge)) }
        guard head.method == .POST else { return refuse(\.malformed, ReceiverResponse(status: .methodNotAllowed)) }
        let fault = nextFault()
        guard fault.takesEvent else { return refuse(\.refused, ReceiverResponse(refusing: path, fault)) }
        let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
        let delivery = ReceivedDelivery(headers: headers, body: body)
        guard plan.keys.isEmpty || delivery.isSigned(by: plan.keys, at: now) else {
            return refuse(\.unsigned, ReceiverResponse(status: .unauthorized))
        }
        guard plan.content == .relay || delivery.event != nil, !delivery.id.isEmpty else {
            return refuse(\.malformed, ReceiverResponse(status: .badRequest))
        }
        return ReceiverResponse(fault) { self.take(delivery) }
    }

    func take(_ delivery: ReceivedDelivery) {
        let event = plan.content == .events ? delivery.event : nil
        let now = ContinuousClock.now
        state.withLock { state in
            state.tally.accept(id: delivery.id, event, at: now)
            guard plan.keeps > 0 else { return }
            if state.deliveries.count == plan.keeps { state.deliveries.removeFirst() }
            state.deliveries.append(delivery)
        }
    }

    private func nextFault() -> ReceiverFault {
        state.withLock { state in
            let fault = state.fault
            guard let remaining = state.remaining else { return fault }
            if remaining <= 1 { (state.fault, state.remaining) = (.none, nil) } else { state.remaining = remaining - 1 }
            return fault
        }
    }

    private func refuse(
        _ counter: WritableKeyPath<DeliveryTally.Counts, Int>, _ response: ReceiverResponse
    ) -> ReceiverResponse {
        state.withLock { $0.tally.count(counter) }
        return response
    }
}
