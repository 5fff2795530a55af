// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTransport
internal import Receipts
internal import Settings

/// Looks at what certificates are checked with.
struct CertificatesCheck {
    let configuration: GatewayConfiguration
    let report: CheckReport
    let now: Timestamp

    /// A root that ends within this time is worth a warning.
    private static let notice: Duration = .seconds(90 * 86_400)

    func run() {
        // That it offers what verifying takes was tried with the configuration.
        report.ok("openssl", "\(ReceiptVerifier.openSSLVersion), with SHA-1, SHA-256, SHA-384, RSA and ECDSA")
        noteRoots()
        if configuration.apple.isEnabled { noteAuthorities() }
    }

    private func noteRoots() {
        let added = configuration.trustRoots.flatMap { root -> [(path: String, end: Timestamp)] in
            let anchors = (try? TrustStore(adding: [root]))?.anchors ?? []
            return anchors.compactMap { anchor in anchor.expires.map { (root.path, $0) } }
        }
        let ending = added.filter { $0.end <= now.advanced(by: Self.notice) }
        guard !ending.isEmpty else {
            let others = added.map { "\($0.path) until \($0.end.day)" }.listed
            return report.ok("roots", "Apple's three" + (added.isEmpty ? "" : ", and \(others)"))
        }
        let names = ending.map { "\($0.path) on \($0.end.day)" }.listed
        report.note(
            "roots", ending.contains { $0.end <= now } ? .failed : .warning,
            "trust roots end, and with them the receipts that are made later: \(names)",
            "Put a newer certificate into gateway.trust_roots.")
    }

    private func noteAuthorities() {
        guard let path = configuration.apple.caFile ?? HTTPTransport.systemCAFile else {
            return report.ok("authorities", "those that libcurl was built with")
        }
        guard (try? TextFile.read(path))?.contains("-----BEGIN CERTIFICATE-----") == true else {
            return report.fail(
                "authorities", "\(path) holds no certificates that can be read: no connection to Apple is trusted",
                do: "Install ca-certificates, or set GATEWAY_APPLE_CA_FILE.")
        }
        report.ok("authorities", "\(path) for connections to Apple")
    }
}
