// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

/// A gateway with a simulated Apple.
struct Stage: Surroundings {
    @TaskLocal private static var running: Stage?
    static var local: TaskLocal<Stage?> { $running }

    let apple: AppleSimulator
    let gateway: RunningGateway

    /// Requests a verdict, which must have status 200 in every state of Apple.
    func verify(_ receipt: String, mode: String = "auto") async throws -> Verdict {
        let answer = try await gateway.verify(receipt, ["mode": mode])
        #expect(answer.status == 200)
        return try Verdict(answer.json)
    }

    /// Sends many receipts at the same time.
    func verify(all receipts: [String], mode: String = "auto") async throws -> [Verdict] {
        try await withThrowingTaskGroup { group in
            for receipt in receipts { group.addTask { try await verify(receipt, mode: mode) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Replaces the current scenario.
    func play(_ yaml: String) throws {
        apple.play(try Scenario(yaml: yaml))
    }

    /// Returns the value of one of the gateway's series.
    func metric(_ series: String) async throws -> Double {
        try #require(try await Scrape(gateway)[series], "\(series)")
    }

    /// Returns the number of transitions of the production endpoint's breaker between two states.
    func moves(from: String, to: String) async throws -> Double {
        try await metric(
            #"circuit_breaker_transitions_total{api="verify_receipt",environment="production",from="\#(from)",to="\#(to)"}"#
        )
    }

    /// Returns the number of requests to the production endpoint with this outcome.
    func questions(_ outcome: String) async throws -> Double {
        try await metric(
            #"upstream_requests_total{api="verify_receipt",environment="production",outcome="\#(outcome)"}"#)
    }
}

/// Runs a test with a gateway and a simulated Apple, and stops both.
func withStage(
    _ scenario: String = "", _ settings: [String: String] = [:], tls: TLSIdentity? = nil,
    _ test: (Stage) async throws -> Void
) async throws {
    try await withApple(scenario, tls: tls) { apple in
        let urls = (apple.productionURL, apple.sandboxURL)
        try await withGateway(askingAt: urls, settings) { try await test(Stage(apple: apple, gateway: $0)) }
    }
}

extension Trait where Self == SurroundingsTrait {
    static var stage: Self { .stage() }

    /// A gateway with a simulated Apple as `Stage.current`.
    static func stage(_ scenario: String = "", _ settings: [String: String] = [:]) -> Self {
        SurroundingsTrait(Stage.self) { try await withStage(scenario, settings, $0) }
    }
}

/// Runs a test with a simulated Apple, and stops it.
func withApple(
    _ scenario: String = "", tls: TLSIdentity? = nil, _ test: (AppleSimulator) async throws -> Void
) async throws {
    var configuration = AppleSimulator.Configuration(pki: Sample.pki)
    configuration.scenario = try Scenario(yaml: scenario)
    configuration.tls = tls
    try await withApple(configuration, test)
}

/// Runs a test with a simulated Apple of this configuration, and stops it.
func withApple(
    _ configuration: AppleSimulator.Configuration, _ test: (AppleSimulator) async throws -> Void
) async throws {
    let apple = try await AppleSimulator.start(configuration)
    do {
        try await test(apple)
        await apple.stop()
    } catch {
        await apple.stop()
        throw error
    }
}

extension AppleSimulator {
    /// Makes the customers of receipts known without a call of verifyReceipt.
    func register(_ receipts: [String]) async throws {
        let body = try Data(json: ["receipts": receipts])
        let answer = try await HTTPCall("PUT", url: productionBaseURL + "/accounts", body: body).answer()
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    }
}

/// Runs a test with a gateway that uses these URLs for Apple.
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
        // Tests of slow answers set their own.
        "GATEWAY_APPLE_SOFT_TIMEOUT": Patience.operationSetting, "GATEWAY_APPLE_DEADLINE": Patience.operationSetting,
    ]
    let gateway = try await RunningGateway(usual.merging(settings) { $1 })
    try await test(gateway)
    // The gateway survives every fault of Apple, and stops on request.
    #expect(await gateway.stop() == 0)
}

/// A verdict as the client receives it.
struct Verdict: Sendable, CustomStringConvertible {
    let verdict: String
    let reason: String?
    let source: String
    let cache: String
    let degradedReasons: [String]
    /// The members of each as texts; those of `renewal` as `renewal.will_renew` and so on.
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

    /// True if the verdict is Apple's, new or cached.
    var isApples: Bool { verdict == "genuine" && source == "apple" && degradedReasons.isEmpty }
    /// True if the verdict is local, with a reason why Apple's is missing.
    var isLabelled: Bool { verdict == "genuine" && source == "local" && !degradedReasons.isEmpty }

    /// Returns true if the verdict is local for this reason.
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
