// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPTypes
import NIOCore
import NIOHTTP1
import Receipts
import Testing

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("The handshake of a connection")
struct HandshakePhaseTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private static let certificate = ClientCertificate(identities: [.dns("shop.internal")], expires: .latest)

    private static func connection(_ change: (inout EdgeRules) -> Void = { _ in }) -> EdgeConnection {
        var rules = EdgeRules(
            bodyLimit: .bytes(10), headersDeadline: .seconds(5), requestDeadline: .seconds(15),
            answerDeadline: .seconds(60), idleDeadline: .seconds(30), shutdownGrace: .seconds(20),
            idleGrace: .seconds(4))
        change(&rules)
        return EdgeConnection(
            rules: rules, routes: RouteTable([]), budget: BodyBudget(.bytes(12)), handshakeDeadline: .seconds(3),
            at: start)
    }

    @Test func `it has a deadline of its own, and then the header has all of its time`() {
        var connection = Self.connection()
        #expect(connection.deadline == Self.start + .seconds(3) && !connection.wantsInput && connection.wantsRead)
        connection.secured(with: nil, at: Self.start + .seconds(2))
        #expect(connection.deadline == Self.start + .seconds(7) && connection.wantsInput)
    }

    @Test func `a late handshake ends the connection without an answer, and so does the shutdown`() {
        var late = Self.connection(), stopped = Self.connection()
        guard case .close = late.deadlinePassed(at: Self.start + .seconds(3)) else { Issue.record("open"); return }
        guard case .close = stopped.quiesce(at: Self.start) else { Issue.record("open"); return }
        late.secured(with: nil, at: Self.start + .seconds(3))
        #expect(late.deadline == nil && stopped.deadline == nil)
    }

    @Test func `after a delay an idle connection waits for one more request, and then ends without a reset`() {
        var connection = Self.connection()
        connection.secured(with: nil, at: Self.start)
        guard case .nothing = connection.quiesce(at: Self.start, isDelayed: true) else { Issue.record("ended"); return }
        #expect(connection.deadline == Self.start + .seconds(4) && connection.wantsInput)
        guard case .finish = connection.deadlinePassed(at: Self.start + .seconds(4)) else {
            Issue.record("not finished")
            return
        }
        #expect(connection.deadline == Self.start + .seconds(6) && !connection.wantsInput)
    }

    // MARK: - Certificates

    private static let shop = Client(
        name: "shop", apps: .all, keys: [], certificates: [.dns("shop.internal"), .uri("spiffe://prod/shop")])

    private static func authenticator() -> Authenticator {
        Authenticator(clients: [shop], hasher: KeyHasher(pepper: RunningGateway.pepper))
    }

    @Test func `any identity names the client, until the certificate expires`() {
        let authenticator = Self.authenticator(), now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
        for identities in [[.dns("shop.internal")], [.dns("other"), .uri("spiffe://prod/shop")]]
            as [[CertificateIdentity]]
        {
            let valid = ClientCertificate(identities: identities, expires: now.advanced(by: .seconds(1)))
            #expect(authenticator.client(with: valid, at: now)?.name == "shop")
            #expect(authenticator.client(with: valid, at: now.advanced(by: .seconds(1))) == nil)
        }
        let other = ClientCertificate(identities: [.uri("shop.internal:")], expires: .latest)
        #expect(authenticator.client(with: other, at: now) == nil)
    }

    @Test(
        arguments: [
            ("dns:Shop.Internal", .dns("shop.internal")), ("uri:spiffe://Prod/x", .uri("spiffe://Prod/x")),
            ("dns:*.internal", nil), ("dns:", nil), ("shop.internal", nil), ("uri:no-scheme", nil), ("dns:a b", nil),
            ("email:a@b", nil), ("sha256:12", nil), ("DNS:shop", nil),
        ] as [(String, CertificateIdentity?)])
    func `an identity is a DNS name without wildcards, a URI or a digest`(text: String, identity: CertificateIdentity?)
    {
        #expect(CertificateIdentity(text) == identity)
    }

    @Test func `the clients file names each identity once, with or without keys`() throws {
        let file = try ClientsFile(
            "clients:\n- {name: shop, apps: '*', certificates: ['dns:shop.internal']}\n", at: .now())
        #expect(file.clients.first?.certificates == [.dns("shop.internal")] && file.clients.first?.isKeyless == false)
        let faulty = """
            clients:
            - {name: shop, apps: '*', certificates: ['dns:shop.internal', 'shop']}
            - {name: other, apps: '*', certificates: ['dns:SHOP.internal']}
            """
        let problems = configurationProblems { try ClientsFile(faulty, at: .now()) }
        #expect(problems.count == 2)
        #expect(problems.first?.contains("clients.yaml:2: certificates must have texts such as") == true)
        #expect(problems.last?.contains("the certificate dns:SHOP.internal appears twice") == true)
    }

    @Test func `a connection's certificate stands in for a missing key`() {
        var connection = Self.connection { rules in
            rules.authenticate = { $0.apiKey == "known" ? .loopback : nil }
            rules.identify = { $0 == Self.certificate ? Self.shop : nil }
        }
        connection.secured(with: Self.certificate, at: Self.start)
        #expect(connection.rules.authenticate(Credentials())?.name == "shop")
        #expect(connection.rules.authenticate(Credentials(apiKey: "known"))?.name == "loopback")
        #expect(connection.rules.authenticate(Credentials(apiKey: "unknown"))?.name == "shop")
    }

    @Test func `a refused request says whether its certificate is unknown or has expired`() throws {
        var connection = Self.connection { $0.authenticate = { _ in nil } }
        connection.secured(with: Self.certificate, at: Self.start)
        guard
            case .refuse(.unauthenticated, let request?, _) = connection.receive(
                .head(try .forTests(["Host": "gateway.internal"])), at: Self.start)
        else {
            Issue.record("the request is not refused")
            return
        }
        #expect(request.unknownCertificate == Self.certificate)
        let now = Timestamp.now(), der: [UInt8] = [1, 2, 3], digest = Fingerprint(of: der.span)
        let certificate = ClientCertificate(
            identities: [.sha256(digest), .dns("shop.internal")], expires: now.advanced(by: .seconds(1)))
        let unlisted = Problem.unauthenticated(certificate, at: now)
        #expect(unlisted.detail.hasPrefix("No client of the clients file lists") && unlisted.status == .unauthorized)
        let expired = Problem.unauthenticated(certificate, at: certificate.expires)
        #expect(expired.detail.contains("(sha256:\(digest)) has expired"), "\(expired.detail)")
        // Names are not repeated: the peer chose them.
        for problem in [unlisted, expired] {
            #expect(problem.headerFields == Problem.unauthenticated.headerFields && problem.code == .unauthenticated)
            #expect(!problem.detail.contains("shop") && problem.detail.hasSuffix("X-API-Key: KEY."))
        }
    }

    @Test func `a key and a certificate prove one client, and only the certificate is a browser's to send`() throws {
        let key = APIKey.random(), hasher = KeyHasher(pepper: RunningGateway.pepper)
        let shop = Client(
            name: "shop", apps: .all, keys: [StoredKey(id: key.id, hash: hasher.hash(key.secret), expires: nil)],
            certificates: [.dns("shop.internal")])
        let authenticator = Authenticator(clients: [shop], hasher: hasher)
        let byKey = try #require(authenticator.client(with: Credentials(apiKey: key.exposed), at: .now()))
        let byCertificate = try #require(authenticator.client(with: Self.certificate, at: .now()))
        #expect(byKey == byCertificate && byKey.certificates == shop.certificates)
        #expect(!byKey.isProvenByBrowsers && byCertificate.isProvenByBrowsers)
    }

    @Test(
        arguments: [
            ("https://gateway.internal:8443", true), ("http://gateway.internal:8443", false),
            ("https://gateway.internal", false), ("null", false),
        ])
    func `over TLS only a page of the gateway's own https site may change something`(
        origin: String, isOwn: Bool
    ) throws {
        let header = try RequestHeader.forTests(["Host": "gateway.internal:8443", "Origin": origin])
        var connection = Self.connection { rules in
            rules.authenticate = { _ in nil }
            rules.identify = { _ in Self.shop }
        }
        connection.secured(with: Self.certificate, at: Self.start)
        switch connection.receive(.head(header), at: Self.start) {
        case .nothing: #expect(isOwn)
        case .refuse(.foreignOrigin, _, _): #expect(!isOwn)
        case let action: Issue.record("\(action)")
        }
    }
}
