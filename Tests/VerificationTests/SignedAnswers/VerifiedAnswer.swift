// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import ReceiptForge
import Testing

@testable import Clients
@testable import Receipts
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// A signed answer, verified with the published keys as an app does.
struct VerifiedAnswer {
    let header: NSDictionary
    let claims: NSDictionary

    /// - Parameter keySet: the published JWK Set.
    init(_ jws: String, keySet: String) throws {
        let keys = try #require(keySet.jsonObject?["keys"] as? [NSDictionary])
        let verified = try CheckedJWS(jws) { header in
            let name = try #require(header.jsonObject?["kid"] as? String)
            let jwk = try #require(keys.first { $0["kid"] as? String == name })
            return try ["x", "y"].reduce([4]) { try $0 + CheckedJWS.decode(#require(jwk[$1] as? String)[...]) }
        }
        header = try #require(verified.header.jsonObject)
        claims = try #require(verified.payload.jsonObject)
    }

    var answer: NSDictionary? { claims["answer"] as? NSDictionary }
    var request: NSDictionary? { claims["request"] as? NSDictionary }
    var verdict: String? { answer?["verdict"] as? String }
    var nonce: String? { claims["nonce"] as? String }
    var cache: String? { (answer?["provenance"] as? NSDictionary)?["cache"] as? String }

    /// SHA-256 in base64url, as claims have it.
    static func digest(_ bytes: [UInt8]) -> String { Base64.encodeURL(HashFunction.sha256.digest(of: bytes)) }

    static func digest(_ text: String) -> String { digest(Array(text.utf8)) }
}

/// A gateway that signs answers. Its clock stands still, so that cached answers stay fresh.
struct SigningGateway {
    static let app = "com.example.forge"

    /// The time of its clock.
    let now: Timestamp
    let gateway: RunningGateway
    private let key: APIKey?

    /// - Parameters:
    ///   - client: fields of the client in the clients file; none for a gateway without a clients file.
    ///   - keys: the scalars of the keys.
    static func with(
        _ client: String..., keys: [UInt8] = [7], _ body: (SigningGateway) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let roots = [Forged.pki.rootPEM, SignedSamples.pki.root.pem]
        let keyFiles = try keys.map { try folder.write(ServerAPIKeyFixture.pem($0), to: "\($0).pem") }
        let configure = { (configuration: inout GatewayConfiguration) in
            configuration.signedAnswers.keyFiles = keyFiles
        }
        let now = Timestamp.now()
        let stopClock = { (dependencies: inout Dependencies) in dependencies.clock = { now } }
        guard !client.isEmpty else {
            return try await RunningGateway.with(trusting: roots, configure, dependencies: stopClock) {
                try await body(SigningGateway(now: now, gateway: $0, key: nil))
            }
        }
        let key = APIKey.random(), entry = client.joined(separator: "\n    ")
        try await RunningGateway.withClient(
            key, entry, trusting: roots, change: configure, dependencies: stopClock
        ) {
            try await body(SigningGateway(now: now, gateway: $0, key: key))
        }
    }

    func verify(
        _ members: [String: Any], accept: String? = "application/jose", nonce: String? = nil
    ) async throws -> RawAnswer? {
        let accepted = accept.map { ["Accept: \($0)"] } ?? [], nonces = nonce.map { ["Gateway-Nonce: \($0)"] } ?? []
        return try await gateway.post(
            "/v1/verify", accepted + nonces, as: key, body: SignedSamples.body(members))
    }

    /// Sends a request, and verifies the signed answer.
    func verified(
        _ members: [String: Any], accept: String? = "application/jose", nonce: String? = nil
    ) async throws -> VerifiedAnswer {
        let answer = try #require(try await verify(members, accept: accept, nonce: nonce))
        try #require(answer.status == 200 && answer.headers["content-type"] == "application/jose", "\(answer)")
        return try VerifiedAnswer(answer.body, keySet: try await keySet())
    }

    func keySet() async throws -> String {
        let answer = try #require(try await gateway.ask("GET /.well-known/jwks.json"))
        try #require(answer.status == 200)
        return answer.body
    }
}
