// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOPosix
import RealServers
import ReceiptForge
import Redis
import Testing
import TestSupport

@Suite(.timeLimit(.patient))
struct TransportTests {
    private static let authority = TLSAuthority(seed: 41)
    private static let stranger = TLSAuthority(seed: 42)

    @Test func `a Unix socket carries commands`() async throws {
        let redis = try await RealServer("redis-server") { port, folder in
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", folder.path, "--unixsocket",
                folder.appending(path: "redis.sock").path,
            ]
        }
        try await TestNode.with(.unixSocket(redis.folder.appending(path: "redis.sock").path)) { test in
            #expect(await test.node.send([RedisCommand("PING")]) == [.success(.status("PONG"))])
        }
    }

    @Test func `TLS carries commands, with a client certificate`() async throws {
        let redis = try await redis(hosts: ["127.0.0.1"])
        let tls = try redis.tls(showsCertificate: true)
        try await TestNode.with(redis.address, loops: 2, { ($0.tls, $0.trackedPrefixes) = (tls, ["rc:"]) }) { test in
            try await test.log.wait(for: .flushed(.subscribed))
            let value = RedisWord(String(repeating: "x", count: 1 << 20))
            #expect(
                await test.node.send([RedisCommand("SET", key: "rc:a", value), RedisCommand("GET", key: "rc:a")])
                    == [.success(.status("OK")), .success(.string(value.bytes))])
        }
    }

    @Test func `a name is compared with the certificate's, for any of its addresses`() async throws {
        let redis = try await redis(hosts: ["localhost"])
        let tls = try redis.tls(showsCertificate: true)
        try await TestNode.with(.host("localhost", port: redis.port), { $0.tls = tls }) { test in
            #expect(await test.node.send([RedisCommand("PING")]) == [.success(.status("PONG"))])
        }
        try await expectNoConnection(to: redis.address, tls, .certificateOfOtherHost)
    }

    @Test func `without a required client certificate there is no connection`() async throws {
        let redis = try await redis(hosts: ["127.0.0.1"])
        let tls = try redis.tls(showsCertificate: false)
        try await expectNoConnection(to: redis.address, tls, .clientCertificateRequired)
    }

    @Test func `a certificate for another host is refused`() async throws {
        let redis = try await redis(hosts: ["redis.example"])
        let tls = try redis.tls(showsCertificate: true)
        try await expectNoConnection(to: redis.address, tls, .certificateOfOtherHost)
        try await expectNoConnection(to: .host("localhost", port: redis.port), tls, .certificateOfOtherHost)
    }

    @Test func `a certificate of an unknown authority is refused`() async throws {
        let redis = try await redis(hosts: ["127.0.0.1"])
        try Data(Self.stranger.certificatePEM.utf8).write(to: redis.file("ca.pem"))
        let tls = try redis.tls(showsCertificate: true)
        try await expectNoConnection(to: redis.address, tls, .certificateUntrusted)
    }

    @Test func `unusable files are named`() throws {
        let missing = "/nonexistent.pem"
        #expect(throws: RedisTLS.Fault.authorities(path: missing)) { try RedisTLS(caFile: missing) }
        #expect(throws: RedisTLS.Fault.unmatched) { try RedisTLS(certificateFile: missing) }
        #expect(throws: RedisTLS.Fault.certificate(path: missing)) {
            try RedisTLS(certificateFile: missing, keyFile: missing)
        }
    }

    @Test func `a node without TLS gets nothing from a TLS port, nor the reverse`() async throws {
        let secure = try await redis(hosts: ["127.0.0.1"])
        let clear = try await RealServer.redis()
        let tls = try secure.tls(showsCertificate: true)
        for (address, tls) in [(secure.address, nil), (clear.address, tls)] {
            // It passes.
            try await TestNode.with(address, waits: false, { ($0.tls, $0.connectDeadline) = (tls, .milliseconds(200)) })
            {
                test in
                try await test.log.wait { $0.contains { if case .connectFailed = $0 { true } else { false } } }
                #expect(test.log.connections(.commands) == 0)
            }
        }
    }

    @Test func `a client certificate of an unknown authority is rejected`() async throws {
        let redis = try await redis(hosts: ["127.0.0.1"])
        let identity = Self.stranger.identity(forHosts: ["127.0.0.1"])
        try Data(identity.certificatePEM.utf8).write(to: redis.file("cert.pem"))
        try Data(identity.privateKeyPEM.utf8).write(to: redis.file("key.pem"))
        let tls = try redis.tls(showsCertificate: true)
        try await expectNoConnection(to: redis.address, tls, .clientCertificateRejected)
    }

    private func expectNoConnection(
        to address: RedisAddress, _ tls: RedisTLS, _ expected: RedisTLSFault
    ) async throws {
        try await TestNode.with(address, waits: false, { $0.tls = tls }) { test in
            try await test.log.wait { events in
                events.contains(.connectFailed(.commands, .tls(expected)))
            }
            #expect(test.log.connections(.commands) == 0)
            #expect(test.node.health == .misconfigured(.tls(expected)))
        }
    }

    /// A Redis that only accepts TLS and requires a client certificate.
    private func redis(hosts: [String]) async throws -> RealServer {
        let identity = Self.authority.identity(forHosts: hosts)
        return try await RealServer("redis-server") { port, folder in
            let texts = [
                "ca.pem": Self.authority.certificatePEM, "cert.pem": identity.certificatePEM,
                "key.pem": identity.privateKeyPEM,
            ]
            for (name, text) in texts { try Data(text.utf8).write(to: folder.appending(path: name)) }
            return [
                "--port", "0", "--tls-port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", folder.path,
                "--tls-ca-cert-file", "ca.pem", "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem",
            ]
        }
    }
}

extension RealServer {
    fileprivate func file(_ name: String) -> URL { folder.appending(path: name) }

    fileprivate func tls(showsCertificate: Bool) throws -> RedisTLS {
        try RedisTLS(
            caFile: file("ca.pem").path, certificateFile: showsCertificate ? file("cert.pem").path : nil,
            keyFile: showsCertificate ? file("key.pem").path : nil)
    }
}
