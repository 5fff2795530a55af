// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct RedisURLTests {
    /// A URL and its parsed values.
    struct Good: CustomTestStringConvertible {
        let text: String
        var topology = RedisURL.Topology.standalone
        var addresses: [RedisAddress] = [.host("redis.internal", port: 6379)]
        var usesTLS = false
        var credentials = RedisURL.Credentials()
        var sentinelCredentials = RedisURL.Credentials()
        var database = 0

        var testDescription: String { text }
    }

    static let good = [
        Good(text: "redis://redis.internal"),
        Good(text: "redis://redis.internal/"),
        Good(text: "REDIS://Redis.Internal:6379/0"),
        Good(text: "rediss://redis.internal", usesTLS: true),
        Good(text: "redis://redis.internal:6380/7", addresses: [.host("redis.internal", port: 6380)], database: 7),
        Good(text: "redis://10.0.0.1:1", addresses: [.host("10.0.0.1", port: 1)]),
        Good(text: "redis://[::1]", addresses: [.host("::1", port: 6379)]),
        Good(text: "redis://[2001:DB8::1]:65535/2", addresses: [.host("2001:db8::1", port: 65535)], database: 2),
        Good(text: "redis://gateway:secret@redis.internal", credentials: .init(user: "gateway", password: "secret")),
        Good(text: "redis://:secret@redis.internal", credentials: .init(password: "secret")),
        Good(text: "redis://gateway@redis.internal", credentials: .init(user: "gateway")),
        Good(text: "redis://g%40b:p%3A%2f%25%C3%A9@redis.internal", credentials: .init(user: "g@b", password: "p:/%é")),
        Good(text: "redis+unix:///run/redis/redis.sock", addresses: [.unixSocket("/run/redis/redis.sock")]),
        Good(
            text: "redis+unix://gateway:secret@/run/a%20b.sock?database=3", addresses: [.unixSocket("/run/a b.sock")],
            credentials: .init(user: "gateway", password: "secret"), database: 3),
        Good(
            text: "redis+sentinel://a,b:26380,[::1]/mymaster", topology: .sentinel(master: "mymaster"),
            addresses: [.host("a", port: 26379), .host("b", port: 26380), .host("::1", port: 26379)]),
        Good(
            text: "rediss+sentinel://u:p@a/my.master-1_x/4?sentinel_password=q%26&sentinel_user=s",
            topology: .sentinel(master: "my.master-1_x"), addresses: [.host("a", port: 26379)], usesTLS: true,
            credentials: .init(user: "u", password: "p"), sentinelCredentials: .init(user: "s", password: "q&"),
            database: 4),
        Good(
            text: "redis+cluster://a:7000,b:7001/0", topology: .cluster,
            addresses: [.host("a", port: 7000), .host("b", port: 7001)]),
        Good(
            text: "rediss+cluster://:p@a", topology: .cluster, addresses: [.host("a", port: 6379)], usesTLS: true,
            credentials: .init(password: "p")),
    ]

    @Test(arguments: good) func `a valid URL is parsed`(_ good: Good) throws {
        let url = try RedisURL(good.text)
        #expect(url.topology == good.topology)
        #expect(url.addresses == good.addresses)
        #expect(url.usesTLS == good.usesTLS)
        #expect(url.credentials == good.credentials)
        #expect(url.sentinelCredentials == good.sentinelCredentials)
        #expect(url.database == good.database)
    }

    static let bad: [(String, RedisURLError)] = [
        ("", .unknownScheme),
        ("redis.internal:6379", .unknownScheme),
        ("redis:/redis.internal", .unknownScheme),
        ("http://redis.internal", .unknownScheme),
        ("rediss+unix:///run/redis.sock", .unknownScheme),
        ("redis://redis internal", .invalidCharacter),
        ("redis://rédis", .invalidCharacter),
        ("redis://redis.internal\n", .invalidCharacter),
        ("redis://redis.internal/0#x", .fragment),
        ("redis://", .noHost),
        ("redis:///0", .noHost),
        ("redis://:secret@", .noHost),
        ("redis://a,b", .severalHosts),
        ("redis://a:6379:6380", .invalidPort),
        ("redis://a:", .invalidPort),
        ("redis://a:0", .invalidPort),
        ("redis://a:65536", .invalidPort),
        ("redis://a:+1", .invalidPort),
        ("redis://a:99999999999999999999", .invalidPort),
        ("redis://:1", .invalidHost),
        ("redis://a%20b", .invalidHost),
        ("redis://a*b", .invalidHost),
        ("redis://::1", .invalidPort),
        ("redis://[::1", .invalidHost),
        ("redis://[::1]6379", .invalidHost),
        ("redis://[::1%25eth0]", .invalidHost),
        ("redis://[10.0.0.1]", .invalidHost),
        ("redis://[:::1]", .invalidHost),
        ("redis://\(String(repeating: "a", count: 254))", .invalidHost),
        ("redis+cluster://a,,b", .invalidHost),
        ("redis+cluster://a,A:6379", .repeatedHost),
        ("redis+cluster://a/1", .databaseInCluster),
        ("redis+cluster://\((1...17).map { "h\($0)" }.joined(separator: ","))", .tooManyHosts),
        ("redis://a/x", .invalidDatabase),
        ("redis://a/-1", .invalidDatabase),
        ("redis://a/10000", .invalidDatabase),
        ("redis://a//", .invalidDatabase),
        ("redis://a/1/2", .unexpectedPath),
        ("redis://a/1?database=1", .unknownOption),
        ("redis://a?password", .unknownOption),
        ("redis://a?sentinel_password=x", .unknownOption),
        ("redis+unix:///a?database=1&database=2", .repeatedOption),
        ("redis://u@v:p@a", .invalidUserInfo),
        ("redis://u:p:q@a", .invalidUserInfo),
        ("redis://u:%zz@a", .invalidPercentEncoding),
        ("redis://u:%4@a", .invalidPercentEncoding),
        ("redis://u:%FF@a", .invalidPercentEncoding),
        ("redis://u:\(String(repeating: "p", count: 513))@a", .credentialsTooLong),
        ("redis+sentinel://a?sentinel_password=\(String(repeating: "p", count: 513))", .credentialsTooLong),
        ("redis+sentinel://a", .noMasterName),
        ("redis+sentinel://a/", .noMasterName),
        ("redis+sentinel://a//0", .noMasterName),
        ("redis+sentinel://a/my%20master", .invalidMasterName),
        ("redis+sentinel://a/\(String(repeating: "m", count: 129))", .invalidMasterName),
        ("redis+sentinel://a/m/0/1", .unexpectedPath),
        ("redis+unix://run/redis.sock", .hostOfSocket),
        ("redis+unix://", .invalidSocketPath),
        ("redis+unix:///", .invalidSocketPath),
        ("redis+unix:///a%00b", .invalidSocketPath),
        ("redis+unix:///\(String(repeating: "p", count: 107))", .invalidSocketPath),
        ("redis+unix:///a?database=x", .invalidDatabase),
        ("redis://" + String(repeating: "a", count: 4089), .tooLong),
    ]

    @Test(arguments: bad) func `an invalid URL has its error`(_ text: String, _ error: RedisURLError) {
        #expect(throws: error) { try RedisURL(text) }
    }

    @Test func `an example exists for every error of URLs`() {
        #expect(Set(Self.bad.map(\.1)) == Set(RedisURLError.allCases))
    }

    @Test(arguments: [
        "redis://gateway:secret@a/3", "redis+unix://gateway:secret@/run/redis.sock",
        "rediss+sentinel://gateway:secret@a,b/mymaster?sentinel_user=gateway&sentinel_password=secret",
        "redis+cluster://:secret@[::1]:7000",
    ]) func `no text of a URL shows a password`(_ text: String) throws {
        let url = try RedisURL(text)
        let configuration = try RedisClientConfiguration(url)
        var dumped = ""
        dump(url, to: &dumped)
        dump(configuration, to: &dumped)
        dump(url.credentials, to: &dumped)
        for print in ["\(url)", String(reflecting: url), "\(configuration)", "\(url.credentials)", dumped] {
            #expect(!print.contains("secret") && !print.contains("gateway"))
        }
    }

    @Test(arguments: good) func `the description of a URL without credentials is an equal URL`(
        _ good: Good
    ) throws {
        let url = try RedisURL(good.text)
        guard url.credentials == .init(), url.sentinelCredentials == .init() else { return }
        #expect(try RedisURL(url.description) == url)
    }
}
