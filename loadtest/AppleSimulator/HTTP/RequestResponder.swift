// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import ReceiptForge

/// The dispatch of requests, without the network.
struct RequestResponder: Sendable {
    let store: SimulatedStore
    let endpoint: Endpoint

    enum Response: Sendable {
        /// A call of verifyReceipt, which is counted until it ends.
        case planned(PlannedResponse)
        /// An answer to a request that controls the simulator.
        case control(StoreAnswer)
    }

    /// - Parameter body: nil if it exceeded the limit.
    func respond(to head: HTTPRequestHead, _ body: ByteBuffer?) -> Response {
        guard let body else { return .control(.text(.payloadTooLarge, "The body is too large.")) }
        let path = head.uri.prefix { $0 != "?" }
        if path == "/verifyReceipt" {
            return .planned(
                store.response(to: Array(buffer: body), isPost: head.method == .POST, at: endpoint))
        }
        if let request = APIRequest(head, body: Array(buffer: body)) {
            return .planned(store.response(to: request, at: endpoint))
        }
        return .control(control(head.method, path, body))
    }

    private func control(_ method: HTTPMethod, _ path: Substring, _ buffer: ByteBuffer) -> StoreAnswer {
        let body = Array(buffer: buffer)
        do {
            switch (method, path) {
            case (.GET, "/stats"): return Self.json(store.statsWithServerAPI)
            case (.GET, "/stats/details"): return Self.json(store.stats.details)
            case (.DELETE, "/stats"): store.resetStats()
            case (.PUT, "/scenario"): store.play(try Scenario(yaml: String(buffer: buffer), limits: store.limits))
            case (.PUT, "/accounts"):
                let evidence = try AccountEvidence(body, limits: store.limits)
                return StoreAnswer(body: try evidence.register(in: store, store.controlContext(at: endpoint)).json)
            case (.PUT, "/customers"):
                let now = UTCDate(store.controlContext(at: endpoint).now)
                let population = try Population(body, limits: store.limits, createdAt: now)
                try store.customers.add(population)
                return StoreAnswer(body: population.json)
            case (.PUT, "/notifications"):
                let (app, destination) = try NotificationDestination.read(body)
                try store.notifications.setDestination(destination, of: app)
            case (.POST, "/notifications"):
                let uuids = try store.notify(try NotificationRequest(body, limits: store.limits))
                return StoreAnswer(body: ByteBuffer(json: { $0.strings("notification_uuids", uuids) }))
            default:
                return .text(
                    .notFound,
                    "Supported: POST /verifyReceipt, /inApps/…, /advancedCommerce/…, GET and DELETE /stats, "
                        + "GET /stats/details, PUT /scenario, PUT /accounts, PUT /customers, PUT and POST /notifications."
                )
            }
            return StoreAnswer(status: .noContent)
        } catch {
            return .text(.unprocessableEntity, "\(error)")
        }
    }

    private static func json(_ value: some Encodable) -> StoreAnswer {
        let encoder = JSONEncoder()
        (encoder.outputFormatting, encoder.keyEncodingStrategy) = (.sortedKeys, .convertToSnakeCase)
        guard let text = try? encoder.encode(value) else {
            preconditionFailure("counts can always be encoded")
        }
        return StoreAnswer(body: ByteBuffer(bytes: text))
    }
}
