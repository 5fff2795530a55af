// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing

/// A gateway, and the simulator that it takes for Apple.
struct Stage {
    let apple: AppleSimulator
    let gateway: RunningGateway

    /// Asks for a verdict, which must come with status 200 whatever Apple does.
    func verify(_ receipt: String, mode: String = "auto") async throws -> Verdict {
        let answer = try await gateway.verify(receipt, ["mode": mode])
        #expect(answer.status == 200)
        return try Verdict(answer.json)
    }

    /// Many receipts at the same time.
    func verify(all receipts: [String], mode: String = "auto") async throws -> [Verdict] {
        try await withThrowingTaskGroup { group in
            for receipt in receipts { group.addTask { try await verify(receipt, mode: mode) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Puts another scenario in the place of the one being played.
    func play(_ yaml: String) throws {
        apple.play(try Scenario(yaml: yaml))
    }

    /// The value of a series of the gateway's.
    func metric(_ series: String) async throws -> Double {
        try #require(try await Scrape(gateway)[series], "\(series)")
    }

    /// How often the production endpoint's breaker went from one state to another.
    func moves(from: String, to: String) async throws -> Double {
        try await metric(
            #"circuit_breaker_transitions_total{api="verify_receipt",environment="production",from="\#(from)",to="\#(to)"}"#
        )
    }

    /// How many questions to the production endpoint had this outcome.
    func questions(_ outcome: String) async throws -> Double {
        try await metric(
            #"upstream_requests_total{api="verify_receipt",environment="production",outcome="\#(outcome)"}"#)
    }
}

/// Runs a test with a gateway and its Apple, and ends both.
func withStage(
    _ scenario: String = "", _ settings: [String: String] = [:], tls: TLSIdentity? = nil,
    _ test: (Stage) async throws -> Void
) async throws {
    var configuration = AppleSimulator.Configuration(pki: Sample.pki)
    configuration.scenario = try Scenario(yaml: scenario)
    configuration.tls = tls
    let apple = try await AppleSimulator.start(configuration)
    do {
        let urls = (apple.productionURL, apple.sandboxURL)
        try await withGateway(askingAt: urls, settings) { try await test(Stage(apple: apple, gateway: $0)) }
        await apple.stop()
    } catch {
        await apple.stop()
        throw error
    }
}

/// Runs a test with a gateway that takes somebody at these URLs for Apple.
func withGateway(
    askingAt urls: (production: String, sandbox: String), _ settings: [String: String] = [:],
    _ test: (RunningGateway) async throws -> Void
) async throws {
    let folder = try ScratchFolder()
    let root = try folder.write(Sample.pki.rootPEM, to: "root.pem")
    let authority = try folder.write(Sample.tlsAuthority.certificatePEM, to: "tls.pem")
    let usual = [
        "GATEWAY_APPLE_PRODUCTION_URL": urls.production, "GATEWAY_APPLE_SANDBOX_URL": urls.sandbox,
        "GATEWAY_APPLE_SHARED_SECRET": Sample.secret, "GATEWAY_APPLE_CA_FILE": authority,
        "GATEWAY_TRUST_ROOTS": root + "=Sandbox+Production",
    ]
    let gateway = try await RunningGateway(usual.merging(settings) { $1 })
    try await test(gateway)
    // Whatever Apple did, the gateway lives, and ends when it is told to.
    #expect(await gateway.stop() == 0)
}

/// What a client is told about a receipt.
struct Verdict: Sendable, CustomStringConvertible {
    let verdict: String
    let reason: String?
    let source: String
    let cache: String
    let degradedReasons: [String]
    /// Of each its members as texts; those of `renewal` as `renewal.will_renew` and so on.
    let subscriptions: [[String: String]]

    init(_ json: [String: Any]) throws {
        verdict = try #require(json["verdict"] as? String)
        reason = json["reason"] as? String
        let provenance = try #require(json["provenance"] as? [String: Any])
        source = try #require(provenance["source"] as? String)
        cache = try #require(provenance["cache"] as? String)
        degradedReasons = try #require(provenance["degraded_reasons"] as? [String])
        #expect(provenance["degraded"] as? Bool == !degradedReasons.isEmpty)
        subscriptions = (json["subscriptions"] as? [[String: Any]] ?? []).map { Self.texts(of: $0) }
    }

    /// Apple said so, now or lately.
    var isApples: Bool { verdict == "genuine" && source == "apple" && degradedReasons.isEmpty }
    /// The receipt says so, and the answer says why Apple did not.
    var isLabelled: Bool { verdict == "genuine" && source == "local" && !degradedReasons.isEmpty }

    /// Whether the receipt says so because of this.
    func isLabelled(_ reason: String) -> Bool { isLabelled && degradedReasons == [reason] }

    var states: [String] { subscriptions.compactMap { $0["state"] } }

    private static func texts(of object: [String: Any]) -> [String: String] {
        object.reduce(into: [:]) { texts, member in
            switch member.value {
            case let text as String: texts[member.key] = text
            case let flag as Bool: texts[member.key] = "\(flag)"
            case let inner as [String: Any]:
                for (name, text) in Self.texts(of: inner) { texts["\(member.key).\(name)"] = text }
            default: break
            }
        }
    }

    var description: String {
        "\(verdict) \(reason ?? "") from \(source), \(cache), degraded \(degradedReasons), \(states)"
    }
}

/// Asks again and again until a condition holds, for so long at most.
func eventually(
    _ what: Comment, within limit: Duration = .seconds(40), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        try #require(ContinuousClock.now < end, what, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(20))
    }
}
