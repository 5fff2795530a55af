// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The limits of the clients file, enforced by the real binary.
struct RateLimitTests {
    @Test func `the sixth request of an hour is refused, and other clients are not affected`() async throws {
        let folder = try ScratchFolder()
        let shop = try await APIKey(), other = try await APIKey()
        let clients = """
            clients:
              - name: shop
                apps: "*"
                limits:
                  - {name: hour, quota: 5, window: 1h}
                  - {name: day, quota: 1000, window: 1d}
                keys:
            \(shop.lines)
              - name: other
                apps: "*"
                keys:
            \(other.lines)
            """
        let gateway = try await RunningGateway(
            APIKey.pepper.merging(["GATEWAY_CLIENTS_FILE": try folder.write(clients, to: "clients.yaml")]) { $1 })
        let api = try APIDescription()
        for left in [4, 3, 2, 1, 0] {
            let answer = try await gateway.verify("AQID", key: shop.text)
            #expect(answer.status == 200 && answer.headers["ratelimit"]?.hasPrefix("\"hour\";r=\(left);t=") == true)
            #expect(answer.headers["ratelimit-policy"] == #""hour";q=5;w=3600, "day";q=1000;w=86400"#)
            #expect(try api.faults(of: answer, to: "POST", "/v1/verify") == [])
        }
        let refusal = try await gateway.verify("AQID", key: shop.text)
        #expect(refusal.status == 429 && refusal.contentType == "application/problem+json")
        #expect(try api.faults(of: refusal, to: "POST", "/v1/verify") == [])
        #expect(try refusal.json["violated-policies"] as? [String] == ["hour"])
        // A token arrives every twelve minutes.
        #expect((1...720).contains(Int(refusal.headers["retry-after"] ?? "") ?? 0))
        let unlimited = try await gateway.verify("AQID", key: other.text)
        #expect(unlimited.status == 200 && unlimited.headers["ratelimit"] == nil)
        let asApple = try await gateway.post(["receipt-data": "AQID"], to: "/verifyReceipt", key: shop.text)
        #expect(asApple.status == 429)
        #expect(try api.faults(of: asApple, to: "POST", "/verifyReceipt") == [])
        let scrape = try await Scrape(gateway)
        #expect(scrape[#"limited_requests_total{limit="rate"}"#] == 2)
        #expect(scrape[#"rate_limit_decisions_total{subject="client",decision="refused",source="store"}"#] == 2)
    }

    @Test func `check-config reads the limits`() async throws {
        let folder = try ScratchFolder()
        let clients = "clients:\n- {name: a, apps: '*', keys: [], limits: [{name: minute, quota: 5, windows: 60s}]}"
        let file = try folder.write(clients, to: "clients.yaml")
        let outcome = try await Program.gateway.run(
            ["check-config"],
            environment: APIKey.pepper.merging([
                "GATEWAY_CLIENTS_FILE": file, "GATEWAY_HTTP_TRUSTED_PROXIES": "10.0.0.1/8",
            ]) { $1 })
        #expect(outcome.status == 78)
        #expect(outcome.errors.contains("clients.yaml:2: windows is not a field here"), "\(outcome.errors)")
        #expect(outcome.errors.contains("\"10.0.0.1/8\" has bits set after its prefix"), "\(outcome.errors)")
    }
}
