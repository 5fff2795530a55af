// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Resilience

/// The requests of OTLP/HTTP in JSON, and the answers to them
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp, opentelemetry-proto `ExportTraceServiceRequest`).
package struct OTLPTraces: Sendable {
    /// The attributes of this process, which every request has.
    private let resource: [(name: String, value: String)]

    package init(resource: [(name: String, value: String)]) { self.resource = resource }

    /// Returns the body of a request. Without spans it only asks whether the collector takes requests.
    package func request(for spans: [TraceSpan]) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 1024 * spans.count) { json in
            json.objects("resourceSpans", of: [spans]) { json, spans in
                json.object("resource") { json in
                    json.objects("attributes", of: resource) { $0.attribute($1.name, .text($1.value)) }
                }
                json.objects("scopeSpans", of: [spans]) { json, spans in
                    json.object("scope") { json in
                        json.member("name", "receipt-gateway")
                        json.member("version", Version.current)
                    }
                    json.objects("spans", of: spans) { $1.writeMembers(to: &$0) }
                }
            }
        }
    }

    /// Returns the number of spans that an answer with status 200 rejects (`partialSuccess.rejectedSpans`), up to a
    /// maximum; 0 for an answer that cannot be read.
    static func rejectedSpans(in answer: [UInt8], atMost maximum: Int) -> Int {
        guard let json = try? JSONValue(parsing: answer),
            let number = json["partialSuccess"]?["rejectedSpans"]
        else { return 0 }
        // A 64-bit integer is a string in JSON (proto3), but readers accept numbers.
        let text = number.string ?? number.number?.text ?? ""
        return Int(text).map { $0.clamped(to: 0...maximum) } ?? 0
    }
}

extension TraceSpan {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("traceId", appending: context.appendTraceID)
        json.member("spanId", appending: context.appendSpanID)
        if let parent { json.member("parentSpanId", appending: parent.appendSpanID) }
        json.member("flags", 1)
        json.member("name", name)
        json.member("kind", kind.rawValue)
        json.identifier("startTimeUnixNano", start)
        json.identifier("endTimeUnixNano", end)
        json.objects("attributes", of: details.attributes) { $0.attribute($1.name, $1.value) }
        if !details.links.isEmpty {
            json.objects("links", of: details.links) { json, link in
                json.member("traceId", appending: link.appendTraceID)
                json.member("spanId", appending: link.appendSpanID)
            }
        }
        if details.isError { json.object("status") { $0.member("code", 2) } }
    }
}

extension JSONWriter {
    fileprivate mutating func attribute(_ name: String, _ value: SpanDetails.Value) {
        member("key", name)
        object("value") { json in
            switch value {
            case .text(let text): json.member("stringValue", text)
            case .number(let number): json.identifier("intValue", Int64(number))
            }
        }
    }
}
