// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPClient
import ReceiptForge

/// Authorities made once, because generating keys takes time.
enum Authorities {
    static let trusted = TLSAuthority(seed: 1)
    static let unknown = TLSAuthority(seed: 2)
    static let localhost = trusted.identity(forHosts: ["localhost", "127.0.0.1"])
}

extension HTTPTransport {
    /// Runs `body` with a transport that trusts the test's authority, may connect to this machine, and has long
    /// timeouts unless configured; then shuts it down.
    static func with(
        _ change: (inout TransportConfiguration) -> Void = { _ in }, isolation: isolated (any Actor)? = #isolation,
        _ body: (HTTPTransport) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem")
        try Authorities.trusted.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let transport = try HTTPTransport(.test(caFile: file.path, change))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(transport)) } catch { outcome = .failure(error) }
        await transport.shutdown()
        try outcome.get()
    }

    /// Sends with a deadline that no test reaches.
    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        try await send(request, deadline: .now + .seconds(3600))
    }
}

extension TransportConfiguration {
    fileprivate static func test(
        caFile: String, _ change: (inout TransportConfiguration) -> Void
    ) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.caFile = caFile
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        (configuration.connectTimeout, configuration.totalTimeout) = (.seconds(3600), .seconds(3600))
        change(&configuration)
        return configuration
    }
}
