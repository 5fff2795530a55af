// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One request and its answer as they go over the wire, for `http --debug`.
struct DebugExchange {
    private let exchange: Exchange
    private let request: ByteBuffer

    init(_ plan: LoadPlan, _ source: TrafficSource) {
        exchange = Exchange(target: plan.target, trust: plan.trust, timeout: plan.timeout)
        var traffic = source.traffic(worker: 0, plan)
        request = traffic.next()
    }

    /// Sends the request, and returns both for readers.
    func text() async throws -> String {
        let reply = try await exchange.send(request)
        let verdict = reply.answer.map { "outcome: \($0.outcome.rawValue)" } ?? "no whole answer in HTTP/1.1"
        return "--- request, \(request.readableBytes.grouped) bytes\n" + Self.readable(request)
            + "\n--- answer, \(reply.bytes.readableBytes.grouped) bytes\n" + Self.readable(reply.bytes)
            + "\n--- \(verdict)\n"
    }

    /// Bytes that cannot be printed are shown as their numbers.
    private static func readable(_ bytes: ByteBuffer) -> String {
        let shown = bytes.readableBytesView.prefix(maximumShownBytes)
        let text = shown.map { byte in
            switch byte {
            case UInt8(ascii: "\n"), 0x20...0x7E: String(UnicodeScalar(byte))
            case UInt8(ascii: "\r"): ""
            default: "\\x" + String(byte, radix: 16)
            }
        }.joined()
        return text + (bytes.readableBytes > shown.count ? "..." : "")
    }

    private static let maximumShownBytes = 16 << 10
}
