// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// TLS at both ports, held against openssl(1).
@Suite("TLS at the door", .timeLimit(.patient))
struct TLSTests {
    private static let request = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.makeCertificate("a")
    }

    private func connect(
        _ port: Int, _ options: String..., request: String = request
    ) throws -> (status: Int32, output: String) {
        try folder.openssl(
            ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", "-CAfile", folder.path("a.pem")]
                + options, input: request)
    }

    @Test func `both ports serve TLS 1.2 and 1.3 with http 1.1, and nothing older`() async throws {
        try await RunningGateway.with({ configuration in
            (configuration.http.listener.tls, configuration.admin.tls) = (folder.files("a"), folder.files("a"))
        }) { gateway in
            for port in [gateway.port, gateway.adminPort] {
                let probe = port == gateway.port ? Self.request.replacing("livez", with: "readyz") : Self.request
                for version in ["-tls1_2", "-tls1_3"] {
                    let answer = try connect(port, version, "-alpn", "h2,http/1.1", "-ign_eof", request: probe)
                    #expect(answer.output.contains("HTTP/1.1 200"), "\(answer.output)")
                    #expect(answer.output.contains("ALPN protocol: http/1.1"))
                    #expect(answer.output.contains("Verify return code: 0 (ok)"))
                }
                let old = try connect(port, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
                #expect(old.status != 0 && !old.output.contains("HTTP/1.1"), "\(old.output)")
            }
            for weak in ["AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA"] {
                #expect(try connect(gateway.port, "-tls1_2", "-cipher", weak).status != 0, "\(weak)")
            }
        }
    }

    @Test func `the span of a request over TLS says https`() async throws {
        let collector = SpanCollector()
        try await collector.run { url in
            try await RunningGateway.with({ configuration in
                (configuration.http.listener.tls, configuration.traces.endpoint) = (folder.files("a"), url)
            }) { gateway in
                let request = Self.request.replacing("livez", with: "nowhere")
                let answer = try connect(gateway.port, "-ign_eof", request: request)
                #expect(answer.output.contains("HTTP/1.1 404"), "\(answer.output)")
            }
        }
        #expect(collector.spans.filter { $0.kind == "2" }.map { $0.attributes["url.scheme"] } == ["https"])
    }

    @Test func `renegotiation is refused`() async throws {
        try await RunningGateway.with({ $0.http.listener.tls = folder.files("a") }) { gateway in
            // A line with R makes s_client renegotiate.
            let answer = try connect(gateway.port, "-tls1_2", request: "R\n")
            #expect(answer.output.contains("RENEGOTIATING") && !answer.output.contains("HTTP/1.1"), "\(answer.output)")
            #expect(answer.status != 0, "\(answer.output)")
        }
    }

    @Test func `plain HTTP at a port with TLS gets no answer`() async throws {
        try await RunningGateway.with({ $0.http.listener.tls = folder.files("a") }) { gateway in
            try await RawConnection.with(port: gateway.port) { connection in
                try await connection.send(Self.request)
                #expect(try await !connection.text(upTo: "HTTP/1.1").contains("HTTP/1.1"))
            }
            let text = gateway.server.metrics.text()
            #expect(text.contains(#"receipt_gateway_http_opening_failures_total{cause="tls_handshake"} 1"#))
        }
    }

    @Test func `a handshake that does not end is cut off`() async throws {
        try await RunningGateway.with({ configuration in
            configuration.http.listener.tls = folder.files("a")
            configuration.http.deadlines.handshake = .milliseconds(100)
        }) { gateway in
            try await RawConnection.with(port: gateway.port) { connection in
                // A record that says that more follows.
                try await connection.send("\u{16}\u{3}\u{1}\u{0}\u{64}")
                #expect(try await connection.isClosed())
            }
            let text = gateway.server.metrics.text()
            #expect(text.contains(#"receipt_gateway_http_opening_failures_total{cause="tls_unfinished"} 1"#))
        }
    }

    @Test func `an address beyond its limit is refused before the handshake`() async throws {
        try await RunningGateway.with({ configuration in
            configuration.http.listener.tls = folder.files("a")
            configuration.http.limits.connectionsPerAddress = 1
        }) { gateway in
            try await RawConnection.with(port: gateway.port) { _ in
                try await eventually { gateway.server.metrics.text().contains("receipt_gateway_http_connections 1") }
                try await RawConnection.with(port: gateway.port) { refused in
                    let isClosed = try await refused.isClosed()
                    #expect(isClosed)
                }
            }
            #expect(gateway.server.metrics.text().contains("receipt_gateway_http_connections_refused_total 1"))
        }
    }

    // MARK: - Files

    @Test func `each fault of the files is named with its setting`() throws {
        try folder.makeCertificate("b")
        try folder.makeCertificate("issued", issuer: "a")
        for bits in [1024, 2048] { try folder.makeCertificate("rsa\(bits)", key: ["-newkey", "rsa:\(bits)"]) }
        try folder.write("no certificate", to: "text")
        let cases: [(String?, String?, String?, String)] = [
            ("a.pem", nil, nil, "gateway.http.tls.key_file: is missing"),
            (nil, "a.key", nil, "gateway.http.tls.key_file: needs gateway.http.tls.certificate_file"),
            (nil, nil, "a.pem", "gateway.http.tls.client_ca_file: needs gateway.http.tls.certificate_file"),
            ("text", "a.key", nil, "text contains no PEM certificate"),
            ("a.pem", "text", nil, "text contains no private key in PEM without a passphrase"),
            ("a.pem", "b.key", nil, "b.key does not belong to the first certificate in"),
            ("a.pem", "none", nil, "none does not exist"),
            ("a.pem", "a.key", "text", "text contains no PEM certificate"),
            ("a.pem", "a.key", "issued.pem", "issued.pem contains no root: add the root"),
            (
                "rsa1024.pem", "rsa1024.key", nil,
                "rsa1024.pem contains a certificate with an RSA key of less than 2048 bits"
            ),
            (
                "rsa2048.pem", "rsa2048.key", "rsa1024.pem",
                "client_ca_file: \(folder.path("rsa1024.pem")) contains a certificate with an RSA key"
            ),
        ]
        for (certificate, key, authorities, fault) in cases {
            var files = TLSFiles()
            files.certificate = certificate.map(folder.path)
            (files.key, files.clientAuthorities) = (key.map(folder.path), authorities.map(folder.path))
            let problems = ConfigurationProblems.of { () throws(ConfigurationProblems) in
                _ = try ServerCertificate(files, of: "gateway.http.tls")
            }
            #expect(problems.count == 1 && problems.first?.description.contains(fault) == true, "\(problems)")
        }
        #expect(try ServerCertificate(TLSFiles(), of: "gateway.http.tls") == nil)
        #expect(try ServerCertificate(folder.files("rsa2048"), of: "gateway.http.tls") != nil)
    }

    @Test func `a replaced certificate is presented to the next connection`() async throws {
        try folder.makeCertificate("b")
        try folder.serve("a", keyOf: "a")
        let (triggers, happening) = AsyncStream.makeStream(of: ReloadTrigger.self)
        let environment = [
            "GATEWAY_HTTP_TLS_CERTIFICATE_FILE": folder.path("served.pem"),
            "GATEWAY_HTTP_TLS_KEY_FILE": folder.path("served.key"), "GATEWAY_APPLE_ENABLED": "false",
        ]
        let reloading = Reloading(
            source: ConfigurationSource(environment: environment, filePath: nil), files: FileReadings(),
            triggers: triggers)
        try await RunningGateway.with({ $0.http.listener.tls = folder.files("served") }) {
            $0.reloading = reloading
        } _: { gateway in
            #expect(try connect(gateway.port).output.contains("subject=CN = a"))
            try folder.serve("b", keyOf: "b")
            happening.yield(.signal)
            try await eventually { try connect(gateway.port).output.contains("subject=CN = b") }
        }
    }

    // MARK: - Client certificates

    @Test func `a certificate names a client, and no certificate still answers health checks`() async throws {
        try folder.makeCertificate("client", subjectAlternativeName: "URI:spiffe://prod/shop,DNS:Shop.Internal")
        try folder.makeCertificate("stranger")
        for identity in ["uri:spiffe://prod/shop", "dns:shop.internal", try sha256("client")] {
            try await withClient("certificates: ['\(identity)']", trusting: "client") { gateway in
                let status = Self.request.replacing("/livez", with: "/v1/status")
                let named = try ask(gateway.port, certificate("client"), status)
                #expect(named.contains("HTTP/1.1 200"), "\(identity): \(named)")
                let nameless = try ask(gateway.port, ["-ign_eof"], status)
                #expect(nameless.contains("HTTP/1.1 401"), "\(nameless)")
                let probe = try ask(gateway.port, ["-ign_eof"], Self.request.replacing("/livez", with: "/readyz"))
                #expect(probe.contains("HTTP/1.1 200"), "\(probe)")
                #expect(try !ask(gateway.port, certificate("stranger"), status).contains("HTTP/1.1"))
            }
        }
    }

    @Test func `a certificate that no client lists gets 401 with its digest and what to do`() async throws {
        try folder.makeCertificate("stranger")
        let digest = try sha256("stranger").dropFirst("sha256:".count).filter { $0 != ":" }.lowercased()
        try await withClient("certificates: ['dns:shop.internal']", trusting: "stranger") { gateway in
            let request = Self.request.replacing("/livez", with: "/v1/status")
            let refused = try ask(gateway.port, certificate("stranger"), request)
            #expect(refused.contains("HTTP/1.1 401"), "\(refused)")
            #expect(refused.contains("certificate of this connection (sha256:\(digest))"), "\(refused)")
            #expect(refused.contains("`certificates` of a client") && refused.contains("X-API-Key: KEY"))
            // Without a certificate the key alone is missing.
            let nameless = try ask(gateway.port, ["-ign_eof"], request)
            #expect(nameless.contains("HTTP/1.1 401") && nameless.contains("A valid API key is required"))
        }
    }

    /// Runs a gateway with one client, which trusts a certificate at its data port.
    private func withClient(
        _ certificates: String, trusting authority: String, _ test: (RunningGateway) async throws -> Void
    ) async throws {
        try await RunningGateway.withClient(
            APIKey.random(), "apps: '*'", certificates,
            change: { configuration in
                configuration.http.listener.tls = folder.files("a")
                configuration.http.listener.tls.clientAuthorities = folder.path("\(authority).pem")
            }, test)
    }

    /// Returns the options of s_client for a certificate.
    private func certificate(_ name: String) -> [String] {
        ["-cert", folder.path("\(name).pem"), "-key", folder.path("\(name).key"), "-ign_eof"]
    }

    private func ask(_ port: Int, _ options: [String], _ request: String) throws -> String {
        try folder.openssl(["s_client", "-quiet", "-connect", "127.0.0.1:\(port)"] + options, input: request).output
    }

    private func sha256(_ name: String) throws -> String {
        let printed = try folder.openssl("x509", "-in", folder.path("\(name).pem"), "-noout", "-fingerprint", "-sha256")
        let digits = try #require(printed.output.split(separator: "=").last)
        return "sha256:\(digits.filter { !$0.isNewline })"
    }
}
