// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTransport
internal import JSON
package import Settings

/// The gateway on this machine that runs with a configuration, seen through its admin plane.
package struct LocalGateway: Sendable {
    private let transport: HTTPTransport
    private let base: String

    enum Limits {
        /// The time limit of a request: an event loop that needs longer is not alive.
        static let timeout: Duration = .seconds(2)
        static let answerBytes = 4 << 20
    }

    package enum Condition: Hashable, Sendable {
        case healthy
        case unhealthy(status: Int, detail: String)
        case unreachable(TransportError)
    }

    /// - Parameter admin: the listener's address; a wildcard address is replaced by loopback.
    package init(_ admin: ListenerConfiguration) throws(TransportError) {
        var configuration = TransportConfiguration()
        configuration.connectTimeout = Limits.timeout
        configuration.totalTimeout = Limits.timeout
        configuration.lowSpeedTime = .zero
        configuration.maximumResponseBytes = Limits.answerBytes
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        transport = try HTTPTransport(configuration)
        base = "http://\(admin.reachableHost):\(admin.port)"
    }

    package func condition(at path: String) async -> Condition {
        do throws(TransportError) {
            let answer = try await get(path)
            if answer.status == 200 { return .healthy }
            let detail = (try? JSONValue(parsing: answer.body))?["detail"]?.string ?? "no reason given"
            return .unhealthy(status: answer.status, detail: detail.printable(maximum: 300))
        } catch {
            return .unreachable(error)
        }
    }

    /// Returns the version of the running gateway; nil if none runs.
    func version() async -> String? {
        guard let answer = try? await get("/metrics"), answer.status == 200 else { return nil }
        let text = String(decoding: answer.body, as: UTF8.self)
        let label = text.firstMatch(of: /receipt_gateway_build_info\{version="([^"]{1,40})"\}/)
        return label.map { String($0.output.1).printable() }
    }

    private func get(_ path: String) async throws(TransportError) -> TransportResponse {
        try await transport.send(TransportRequest(.get, url: base + path), deadline: .now + Limits.timeout)
    }
}

extension ListenerConfiguration {
    /// The address under which a local process reaches the listener, as in a URL.
    package var reachableHost: String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::", "[::]": "[::1]"
        case _ where host.contains(":") && !host.hasPrefix("["): "[\(host)]"
        default: host
        }
    }
}
