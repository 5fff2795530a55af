// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import Receipts
import Testing

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Reloads of the listeners' certificates")
struct CertificateReloadTests {
    private static let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)

    private let folder: TemporaryFolder
    private let files = FileReadings()
    private let source: ConfigurationSource
    private let inventory = CertificateInventory(logger: .silent)

    init() throws {
        folder = try TemporaryFolder()
        for name in ["a", "b"] { try folder.makeCertificate(name) }
        source = ConfigurationSource(environment: [:], filePath: folder.path("gateway.yaml"))
        try folder.serve("a", keyOf: "a")
        try configure("tls: {certificate_file: served.pem, key_file: served.key}")
    }

    private func configure(_ http: String) throws {
        try folder.write("gateway: {apple: {enabled: false}, http: {\(http)}}\n", to: "gateway.yaml")
    }

    private func reloader() throws -> (reloader: Reloader, certificates: CurrentServerCertificates) {
        let read = try source.load(readFile: files.read)
        let certificates = CurrentServerCertificates(
            try ServerCertificates(read, readFile: files.read), onChange: inventory.serves)
        let access = CurrentAccess(Access(AccessRules(read, nil)))
        let verifier = CurrentVerifier(ReceiptVerifier(trustStore: try TrustStore(read)))
        return (Reloader(source, files: files, read, access, verifier, certificates), certificates)
    }

    @Test func `replaced files are noticed, and serve new connections`() throws {
        var (reloader, certificates) = try reloader()
        let first = try #require(certificates.now.data)
        #expect(certificates.now.admin == nil && inventory.end(of: .httpServer) == first.end)
        #expect(inventory.end(of: .adminServer) == nil)
        try folder.serve("b", keyOf: "b")
        let checks = [reloader.checkFiles(), reloader.checkFiles()]
        #expect(checks == [false, true])
        let reload = reloader.reload(at: Self.now)
        #expect(reload.result == .success && reload.changed == ["gateway.http.tls"] && reload.awaitingRestart == [])
        let second = try #require(certificates.now.data)
        #expect(second.fingerprint != first.fingerprint && second.context !== first.context)
        #expect(inventory.end(of: .httpServer) == second.end)
        let again = reloader.reload(at: Self.now)
        #expect(again.result == .unchanged)
    }

    @Test func `a certificate and a key that do not belong together change nothing`() throws {
        var (reloader, certificates) = try reloader()
        let first = try #require(certificates.now.data)
        try folder.serve("b", keyOf: "a")
        let reload = reloader.reload(at: Self.now)
        #expect(reload.result == .refused && reload.problems.count == 1)
        #expect(reload.problems.first?.contains("does not belong to the first certificate in") == true)
        #expect(certificates.now.data?.fingerprint == first.fingerprint)
    }

    @Test func `other paths are taken, and TLS itself waits for a restart`() throws {
        var (reloader, certificates) = try reloader()
        let first = try #require(certificates.now.data)
        try configure("tls: {certificate_file: b.pem, key_file: b.key}")
        #expect(reloader.reload(at: Self.now).changed == ["gateway.http.tls"])
        #expect(certificates.now.data?.fingerprint != first.fingerprint)
        try configure("port: 8080")
        let reload = reloader.reload(at: Self.now)
        let waiting = ["gateway.http.tls.certificate_file", "gateway.http.tls.key_file"]
        #expect(reload.result == .unchanged && reload.awaitingRestart == waiting)
        #expect(certificates.now.data != nil)
    }
}
