// SPDX-License-Identifier: Apache-2.0

package import Customers

extension RequestTracing {
    /// Adds a span to each attempt to deliver an event, with a link to the request that caused the event.
    package func traced(_ sender: any WebhookSender) -> any WebhookSender {
        recorder.map { TracedWebhookSender(sender: sender, recorder: $0) } ?? sender
    }
}

private struct TracedWebhookSender: WebhookSender {
    let sender: any WebhookSender
    let recorder: SpanRecorder

    func send(_ request: WebhookRequest) async throws(DeliveryFault) -> WebhookReply {
        // An event is sent for days, and to several endpoints.
        guard let trace = LinkedTrace(of: request.traceparent, recorder) else { return try await sender.send(request) }
        let start = ContinuousClock.now
        let result: Result<WebhookReply, DeliveryFault>
        do throws(DeliveryFault) {
            result = .success(try await sender.send(request))
        } catch {
            result = .failure(error)
        }
        trace.end("POST", .client, took: .now - start) { details in
            details.set("http.request.method", "POST")
            details.set("receipt_gateway.event_type", request.headers.first { $0.name == "ce-type" }?.value)
            switch result {
            case .success(let reply):
                details.set("http.response.status_code", reply.status)
                if let fault = DeliveryFault(status: reply.status) { details.fail(fault.rawValue) }
            case .failure(let fault): details.fail(fault.rawValue)
            }
        }
        return try result.get()
    }
}
