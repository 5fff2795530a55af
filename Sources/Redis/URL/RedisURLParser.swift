// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// A parser that splits a URL of Redis in one pass from left to right.
struct RedisURLParser {
    enum Scheme: String {
        case redis
        case rediss
        case unix = "redis+unix"
        case sentinel = "redis+sentinel"
        case sentinelTLS = "rediss+sentinel"
        case cluster = "redis+cluster"
        case clusterTLS = "rediss+cluster"

        var usesTLS: Bool { self == .rediss || self == .sentinelTLS || self == .clusterTLS }

        var isSentinel: Bool { self == .sentinel || self == .sentinelTLS }
        var isCluster: Bool { self == .cluster || self == .clusterTLS }
        var port: Int { isSentinel ? 26379 : 6379 }
    }

    let scheme: Scheme
    let credentials: RedisURL.Credentials
    let sentinelCredentials: RedisURL.Credentials
    private let hosts: Substring
    private let path: [Substring]
    /// The options after the question mark, each to be taken once.
    private var options: [Substring: Substring]

    init(_ text: String) throws(RedisURLError) {
        guard text.utf8.count <= RedisURL.Limits.maximumBytes else { throw .tooLong }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalidCharacter }
        guard !text.contains("#") else { throw .fragment }
        guard let end = text.firstRange(of: "://"), let scheme = Scheme(rawValue: text[..<end.lowerBound].lowercased())
        else { throw .unknownScheme }
        self.scheme = scheme
        let (target, query) = text[end.upperBound...].split(atFirst: "?")
        options = try Self.options(of: query ?? "")
        let (authority, path) = target.split(atFirst: "/")
        self.path = path.map { $0.split(separator: "/", omittingEmptySubsequences: false) } ?? []
        (credentials, hosts) = try Self.userInfo(of: authority)
        sentinelCredentials = RedisURL.Credentials(
            user: try options.removeValue(forKey: "sentinel_user").map(Self.credential),
            password: try options.removeValue(forKey: "sentinel_password").map(Self.credential))
        guard scheme.isSentinel || sentinelCredentials == RedisURL.Credentials() else { throw .unknownOption }
    }

    mutating func target() throws(RedisURLError) -> (RedisURL.Topology, [RedisAddress], database: Int) {
        let target = try scheme == .unix ? socket() : network()
        guard options.isEmpty else { throw .unknownOption }
        return target
    }

    // MARK: - Targets

    private mutating func socket() throws(RedisURLError) -> (RedisURL.Topology, [RedisAddress], database: Int) {
        guard hosts.isEmpty else { throw .hostOfSocket }
        let path = try Self.decoded(path.joined(separator: "/"))
        guard !path.isEmpty, path.utf8.count < RedisAddress.Limits.maximumPathBytes, !path.utf8.contains(0)
        else { throw .invalidSocketPath }
        let database = try options.removeValue(forKey: "database").map(Self.database) ?? 0
        return (.standalone, [.unixSocket("/" + path)], database)
    }

    private func network() throws(RedisURLError) -> (RedisURL.Topology, [RedisAddress], database: Int) {
        let addresses = try addresses()
        // `redis://host/` equals `redis://host`.
        var words = path.last == "" ? path.dropLast() : path[...]
        var topology = RedisURL.Topology.standalone
        if scheme.isSentinel {
            guard let name = words.popFirst(), !name.isEmpty else { throw .noMasterName }
            topology = .sentinel(master: try Self.masterName(name))
        } else if scheme.isCluster {
            topology = .cluster
        } else if addresses.count > 1 {
            throw .severalHosts
        }
        let database = try words.popFirst().map(Self.database) ?? 0
        guard words.isEmpty else { throw .unexpectedPath }
        guard database == 0 || topology != .cluster else { throw .databaseInCluster }
        return (topology, addresses, database)
    }

    private func addresses() throws(RedisURLError) -> [RedisAddress] {
        guard !hosts.isEmpty else { throw .noHost }
        let texts = hosts.split(separator: ",", omittingEmptySubsequences: false)
        guard texts.count <= RedisURL.Limits.maximumHosts else { throw .tooManyHosts }
        var addresses: [RedisAddress] = []
        for text in texts {
            let address = try address(text)
            guard !addresses.contains(address) else { throw .repeatedHost }
            addresses.append(address)
        }
        return addresses
    }

    private func address(_ text: Substring) throws(RedisURLError) -> RedisAddress {
        let (host, port) = try Self.hostAndPort(text)
        guard let number = port.map(Self.port) ?? scheme.port else { throw .invalidPort }
        guard let address = RedisAddress.checked(host: host, port: number) else { throw .invalidHost }
        return address
    }

    private static func hostAndPort(_ text: Substring) throws(RedisURLError) -> (Substring, port: Substring?) {
        guard text.first == "[" else { return text.split(atFirst: ":") }
        let (host, rest) = text.dropFirst().split(atFirst: "]")
        guard let rest, host.contains(":") else { throw .invalidHost }
        guard !rest.isEmpty else { return (host, nil) }
        guard rest.first == ":" else { throw .invalidHost }
        return (host, rest.dropFirst())
    }

    // MARK: - Words

    private static func userInfo(of authority: Substring) throws(RedisURLError) -> (RedisURL.Credentials, Substring) {
        let (userInfo, hosts) = authority.split(atFirst: "@")
        guard let hosts else { return (RedisURL.Credentials(), authority) }
        let (user, password) = userInfo.split(atFirst: ":")
        guard !hosts.contains("@"), password?.contains(":") != true else { throw .invalidUserInfo }
        let credentials = RedisURL.Credentials(
            user: user.isEmpty ? nil : try credential(user),
            password: try password.map(credential))
        return (credentials, hosts)
    }

    private static func options(of query: Substring) throws(RedisURLError) -> [Substring: Substring] {
        var options: [Substring: Substring] = [:]
        for option in query.split(separator: "&") {
            let (name, value) = option.split(atFirst: "=")
            guard let value else { throw .unknownOption }
            guard options.updateValue(value, forKey: name) == nil else { throw .repeatedOption }
        }
        return options
    }

    private static func credential(_ text: Substring) throws(RedisURLError) -> String {
        let word = try decoded(text)
        guard word.utf8.count <= RedisURL.Limits.maximumCredentialBytes else { throw .credentialsTooLong }
        return word
    }

    private static func masterName(_ text: Substring) throws(RedisURLError) -> String {
        let name = try decoded(text)
        guard name.utf8.count <= RedisURL.Limits.maximumMasterNameBytes, name.isPlainName
        else { throw .invalidMasterName }
        return name
    }

    private static func database(_ text: Substring) throws(RedisURLError) -> Int {
        guard let number = plainNumber(text, maximumDigits: 4), RedisURL.Limits.databases.contains(number)
        else { throw .invalidDatabase }
        return number
    }

    private static func port(_ text: Substring) -> Int? {
        plainNumber(text, maximumDigits: 5).flatMap { RedisAddress.Limits.ports.contains($0) ? $0 : nil }
    }

    /// Digits only: no sign, no space.
    private static func plainNumber(_ text: Substring, maximumDigits: Int) -> Int? {
        guard text.utf8.count <= maximumDigits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// RFC 3986 §2.1.
    private static func decoded(_ text: some StringProtocol) throws(RedisURLError) -> String {
        let sent = Array(text.utf8)
        guard let bytes = sent.span.percentDecoded(), let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .invalidPercentEncoding
        }
        return decoded
    }
}

extension StringProtocol where SubSequence == Substring {
    fileprivate func split(atFirst separator: Character) -> (Substring, Substring?) {
        guard let index = firstIndex(of: separator) else { return (self[...], nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}
