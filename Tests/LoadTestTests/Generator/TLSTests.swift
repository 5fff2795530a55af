// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing

@testable import LoadTest

/// The generator against servers with TLS.
@Suite(.serialized)
struct TLSTests {
    private static let authority = TLSAuthority(seed: 7)

    /// Runs the body with a server that shows this identity, or speaks no TLS, and the file of its authority.
    private static func withServer(
        _ identity: TLSIdentity?, _ body: (_ port: Int, _ authority: TLSTrust) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let file = try folder.write(authority.certificatePEM, to: "ca.pem")
        var configuration = AppleSimulator.Configuration(pki: TestBench.pki)
        configuration.tls = identity
        let apple = try await AppleSimulator.start(configuration)
        try await apple.whileRunning { apple in
            let port = try #require(URL(string: apple.productionURL)?.port)
            try await body(port, .file(file))
        }
    }

    private static func plan(_ url: String, _ trust: TLSTrust) throws -> LoadPlan {
        var plan = LoadPlan(target: try LoadTarget(url), trust: trust)
        (plan.connections, plan.isClosed, plan.maximumRequests) = (3, true, 30)
        return plan
    }

    private static func measure(_ plan: LoadPlan) async throws -> LoadMeasurements {
        let request = RequestForm.request("GET", plan.target, [], body: nil)
        return try await LoadRun(plan: plan) { _ in InTurn([request]) }.run()
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `a server that proves its name or address is asked over TLS`(host: String) async throws {
        try await Self.withServer(Self.authority.identity(forHosts: ["localhost", "127.0.0.1"])) { port, authority in
            let plan = try Self.plan("https://\(host):\(port)/stats", authority)
            let result = try await Self.measure(plan)
            #expect(result.counts.answered == 30 && result.statuses == [200: 30] && result.failures.isEmpty)
            let reply = try await Exchange(target: plan.target, trust: authority).get()
            #expect(reply.answer?.status == 200 && String(decoding: reply.body, as: UTF8.self).contains("production"))
        }
    }

    @Test(arguments: ["unknown authority", "other name", "expired", "no TLS"])
    func `a server that proves nothing gets no request, unless anything is trusted`(fault: String) async throws {
        let identity: TLSIdentity? =
            switch fault {
            case "other name": Self.authority.identity(forHosts: ["example.com"])
            case "expired": Self.authority.expiredIdentity(forHosts: ["localhost"])
            case "no TLS": nil
            default: Self.authority.identity(forHosts: ["localhost"])
            }
        try await Self.withServer(identity) { port, authority in
            let trust = fault == "unknown authority" ? .system : authority
            let plan = try Self.plan("https://localhost:\(port)/stats", trust)
            await #expect { try await Self.measure(plan) } throws: { Self.isHandshakeError($0) }
            let exchange = Exchange(target: plan.target, trust: trust)
            await #expect { try await exchange.get() } throws: { Self.isHandshakeError($0) }
            guard identity != nil else { return }
            let trusting = try Self.plan("https://localhost:\(port)/stats", .anything)
            #expect(try await Self.measure(trusting).counts.answered == 30)
        }
    }

    private static func isHandshakeError(_ error: any Error) -> Bool {
        guard case .handshake(_, let reason) = error as? LoadRunError else { return false }
        return !reason.isEmpty && "\(error)".contains("--insecure")
    }

    @Test func `a file without certificates is named`() async throws {
        let plan = try Self.plan("https://localhost:1/", .file("/nowhere/ca.pem"))
        await #expect(throws: LoadRunError.noCertificates("'/nowhere/ca.pem'")) { try await Self.measure(plan) }
    }
}
