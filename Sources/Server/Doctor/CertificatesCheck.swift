// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPClient
internal import HTTPServer
internal import Receipts
internal import Settings

extension AreaCheck {
    /// The time before a root's end from which a warning is given.
    private static let rootNotice: Duration = .seconds(90 * 86_400)

    /// The same for a listener's certificate, which authorities renew a month before its end.
    private static let listenerNotice: Duration = .seconds(14 * 86_400)

    func checkCertificates() {
        // Loading the configuration has tried the algorithms.
        report.ok("openssl", "\(ReceiptVerifier.openSSLVersion), with SHA-1, SHA-256, SHA-384, RSA and ECDSA")
        checkRoots()
        checkListeners()
        checkAnswerKeys()
        if configuration.apple.isEnabled { checkAuthorities() }
    }

    private func checkRoots() {
        let now = clock()
        let added = configuration.trustRoots.flatMap { root -> [(path: String, end: Timestamp)] in
            let anchors = (try? TrustStore(adding: [root]))?.anchors ?? []
            return anchors.compactMap { anchor in anchor.expires.map { (root.path, $0) } }
        }
        let ending = added.filter { $0.end <= now.advanced(by: Self.rootNotice) }
        guard !ending.isEmpty else {
            let others = added.map { "\($0.path) until \($0.end.day)" }.listed
            return report.ok("roots", "Apple's three" + (added.isEmpty ? "" : ", and \(others)"))
        }
        let names = ending.map { "\($0.path) on \($0.end.day)" }.listed
        report.record(
            "roots", ending.contains { $0.end <= now } ? .failed : .warning,
            "trust roots expire, and receipts created later will be rejected: \(names)",
            "Put a newer certificate into gateway.trust_roots.")
    }

    private func checkListeners() {
        // Loading the configuration has read them.
        guard let certificates = try? ServerCertificates(configuration) else { return }
        check(certificates.data, "data", configuration.http.listener)
        check(certificates.admin, "admin", configuration.admin)
    }

    private func check(_ certificate: ServerCertificate?, _ plane: String, _ listener: ListenerConfiguration) {
        guard let certificate, let path = listener.tls.certificate?.printable() else { return }
        let now = clock()
        if now.advanced(by: Self.listenerNotice) < certificate.end {
            return report.ok(plane, "\(path) until \(certificate.end.day)")
        }
        report.record(
            plane, certificate.end <= now ? .failed : .warning,
            "the certificate of the \(plane) plane \(certificate.end <= now ? "has expired" : "expires") on "
                + "\(certificate.end.day): \(path)",
            "Replace the file; the gateway reloads it.")
    }

    private func checkAnswerKeys() {
        guard let keys = try? AnswerKeys(configuration) else { return }
        let others = configuration.signedAnswers.keyFiles.count - 1
        report.ok("answers", "the key \(keys.signingKey.thumbprint) signs answers; other keys published: \(others)")
    }

    private func checkAuthorities() {
        guard let path = configuration.apple.caFile ?? HTTPTransport.systemCAFile else {
            return report.ok("authorities", "libcurl's built-in CA certificates")
        }
        guard (try? TextFile.read(path))?.contains("-----BEGIN CERTIFICATE-----") == true else {
            return report.fail(
                "authorities", "\(path) contains no readable certificates: no connection to Apple is trusted",
                do: "Install ca-certificates, or set GATEWAY_APPLE_CA_FILE.")
        }
        report.ok("authorities", "\(path) for connections to Apple")
    }
}
