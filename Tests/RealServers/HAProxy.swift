// SPDX-License-Identifier: Apache-2.0

internal import Foundation

extension RealServer {
    /// A gateway as a backend of a load balancer: ports on 127.0.0.1.
    public struct Backend: Hashable, Sendable {
        /// The port for requests.
        public let dataPort: Int
        /// The port of `/readyz`.
        public let adminPort: Int

        /// Creates a backend with these ports.
        public init(dataPort: Int, adminPort: Int) {
            (self.dataPort, self.adminPort) = (dataPort, adminPort)
        }
    }

    /// Starts HAProxy in front of gateways, round robin; gateways that are not ready receive nothing.
    /// - Parameter reusingConnections: true if connections to gateways serve the requests of all clients.
    public static func haproxy(before backends: [Backend], reusingConnections: Bool = false) async throws -> RealServer
    {
        try await RealServer("haproxy") { port, folder in
            let file = folder.appending(path: "haproxy.cfg")
            try Data(haproxyConfiguration(port: port, backends, reusingConnections).utf8).write(to: file)
            return ["-db", "-f", file.path]
        }
    }

    /// The address of the load balancer that names clients. Its checks count for no client: the wait for the load balancer
    /// is one, with the address 127.0.0.1, and would take the place of a check.
    public static let namingAddress = "127.0.0.9"

    /// Starts HAProxy as a TCP load balancer at `namingAddress` that names each client in a header of the PROXY protocol,
    /// also in its checks.
    public static func haproxyNamingClients(to backend: Backend) async throws -> RealServer {
        try await RealServer("haproxy") { port, folder in
            let file = folder.appending(path: "haproxy.cfg")
            let text = """
                defaults
                    mode tcp
                    timeout connect 60s
                    timeout client 60s
                    timeout server 60s
                listen gateway
                    bind 127.0.0.1:\(port)
                    option httpchk GET /readyz
                    default-server inter 300ms source \(namingAddress) send-proxy-v2 check-send-proxy
                    server gateway 127.0.0.1:\(backend.dataPort) check

                """
            try Data(text.utf8).write(to: file)
            return ["-db", "-f", file.path]
        }
    }

    /// A request is retried at another gateway when its gateway ends before the answer: verifying a receipt twice does
    /// no harm.
    private static func haproxyConfiguration(
        port: Int, _ backends: [Backend], _ reusesConnections: Bool
    ) -> String {
        let servers = backends.enumerated().map { number, backend in
            "    server gateway\(number) 127.0.0.1:\(backend.dataPort) check port \(backend.adminPort)"
        }
        return """
            global
                maxconn 2000
            defaults
                mode http
                timeout connect 60s
                timeout client 60s
                timeout server 60s
                timeout check 60s
                option redispatch 1
                retries 2
                retry-on conn-failure empty-response
            listen gateways
                bind 127.0.0.1:\(port)
                balance roundrobin
                http-reuse \(reusesConnections ? "always" : "safe")
                option httpchk GET /readyz
                default-server inter 300ms fall 2 rise 1
            \(servers.joined(separator: "\n"))

            """
    }
}
