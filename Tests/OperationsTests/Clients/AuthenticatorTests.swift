// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Gateway
import Receipts
import Testing

@testable import Clients
@testable import Server
@testable import ServerTestSupport

@Suite("API keys")
struct AuthenticatorTests {
    private static let expiry = Timestamp(millisecondsSince1970: 1000)
    private static let before = Timestamp(millisecondsSince1970: 999)

    private let key = APIKey.random()
    private let hasher = KeyHasher(pepper: RunningGateway.pepper)
    private let authenticator: Authenticator

    init() {
        let stored = StoredKey(id: key.id, hash: hasher.hash(key.secret), expires: Self.expiry)
        let client = Client(name: "shop", apps: .only(["com.example"]), keys: [stored])
        authenticator = Authenticator(clients: [client], hasher: hasher)
    }

    @Test func `a key is accepted in either header field`() throws {
        for credentials in [
            Credentials(authorization: "Bearer \(key.exposed)"), Credentials(authorization: "bearer \(key.exposed)"),
            Credentials(apiKey: key.exposed),
        ] { #expect(authenticator.client(with: credentials, at: Self.before)?.name == "shop") }
    }

    @Test(arguments: ["Bearer eyJhbGciOiJFUzI1NiJ9.eyJiaWQiOiJhIn0.c2ln", "Bearer", "Basic YTpi", "Digest a", ""])
    func `a token for another server in one field does not hide the key in the other`(token: String) {
        let inAPIKey = Credentials(authorization: token, apiKey: key.exposed)
        #expect(authenticator.client(with: inAPIKey, at: Self.before)?.name == "shop")
        let inAuthorization = Credentials(authorization: "Bearer \(key.exposed)", apiKey: token)
        #expect(authenticator.client(with: inAuthorization, at: Self.before)?.name == "shop")
    }

    @Test func `a wrong secret of a known key is not made good by the other field`() {
        let wrong = "Bearer \(key.id).\(APIKey.random().secret.exposed)"
        let credentials = Credentials(authorization: wrong, apiKey: key.exposed)
        #expect(authenticator.client(with: credentials, at: Self.before) == nil)
    }

    @Test func `no wrong credential finds a client`() throws {
        let other = APIKey.random()
        let wrong = [
            Credentials(), Credentials(authorization: ""), Credentials(authorization: "Bearer"),
            Credentials(authorization: "Basic \(key.exposed)"),
            Credentials(authorization: key.exposed), Credentials(apiKey: key.id), Credentials(apiKey: "\(key.id)."),
            Credentials(apiKey: other.exposed),
            Credentials(apiKey: "\(key.id).\(other.secret.exposed)"),
            Credentials(apiKey: "\(other.id).\(key.secret.exposed)"),
            Credentials(apiKey: key.exposed + "A"), Credentials(apiKey: String(key.exposed.dropLast())),
            Credentials(apiKey: key.exposed + String(repeating: "A", count: 200)),
        ]
        for credentials in wrong { #expect(authenticator.client(with: credentials, at: Self.before) == nil) }
    }

    @Test func `a key is rejected from its expiry on`() {
        #expect(authenticator.client(with: Credentials(apiKey: key.exposed), at: Self.expiry) == nil)
    }

    @Test func `another pepper gives another hash`() {
        #expect(KeyHasher(pepper: Secret("some other pepper")).hash(key.secret) != hasher.hash(key.secret))
    }

    @Test func `without keys every client is the loopback client`() throws {
        let client = try #require(Authenticator.loopbackOnly.client(with: Credentials(), at: Self.before))
        #expect(client == .loopback && client.keyID == nil)
    }

    @Test func `a client has the ID of the key that it used, and stays one client`() throws {
        let other = APIKey.random()
        let keys = [key, other].map { StoredKey(id: $0.id, hash: hasher.hash($0.secret), expires: nil) }
        let shop = Client(name: "shop", apps: .all, keys: keys)
        let authenticator = Authenticator(clients: [shop], hasher: hasher)
        let clients = try [key, other].map {
            try #require(authenticator.client(with: Credentials(apiKey: $0.exposed), at: Self.before))
        }
        #expect(clients.map(\.keyID) == [key.id, other.id] && clients.allSatisfy { $0 == shop })
        // The same object for each request.
        #expect(authenticator.client(with: Credentials(apiKey: key.exposed), at: Self.before) === clients[0])
    }

    @Test func `a new key has 32 random bytes and reads back`() throws {
        #expect(key.secret.exposed.utf8.count == 43)
        #expect(APIKey(key.exposed)?.id == key.id)
        #expect(APIKey.random().exposed != key.exposed)
    }

    @Test(arguments: [
        ([], ""), ([0x66], "Zg"), ([0x66, 0x6F], "Zm8"), ([0x66, 0x6F, 0x6F], "Zm9v"), ([0xFB, 0xFF, 0xBF], "-_-_"),
    ])
    func `base64url as in RFC 4648`(bytes: [UInt8], text: String) {
        #expect(Base64.encodeURL(bytes) == text)
    }

    @Test func `the clients file accepts the output of hash-key`() throws {
        let text = "clients:\n  - name: shop\n    apps: '*'\n    keys:\n" + key.clientsFileSnippet(hasher: hasher)
        let clients = try ClientsFile(text, at: Self.before).clients
        let authenticator = Authenticator(clients: clients, hasher: hasher)
        #expect(authenticator.client(with: Credentials(apiKey: key.exposed), at: Self.before)?.name == "shop")
    }
}
