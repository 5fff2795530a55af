// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One reply of Redis, as RESP2 knows it.
public enum RedisValue: Hashable, Sendable {
    /// `$-1` or `*-1`.
    case null
    /// `:1000`
    case integer(Int64)
    /// `+OK`
    case status(String)
    /// `$5 hello`: any bytes.
    case string([UInt8])
    /// `*2 ...`
    case array([RedisValue])
    /// `-ERR ...` inside an array; as a whole reply it is thrown as `RedisError.refused`.
    case error(RedisRefusal)
}

/// What Redis answers when it does not do what it was told. The kinds are those that call for different reactions.
public struct RedisRefusal: Error, Hashable, Sendable {
    /// The first word of an error reply.
    public enum Kind: String, CaseIterable, Sendable {
        /// The key lives on another node of the cluster, for good.
        case moved = "MOVED"
        /// The key lives on another node of the cluster, for this once.
        case ask = "ASK"
        /// Some of the keys are being moved; the same command works a moment later.
        case tryAgain = "TRYAGAIN"
        /// The cluster does not serve this slot now.
        case clusterDown = "CLUSTERDOWN"
        /// This node is a replica: another one became the master.
        case readOnly = "READONLY"
        /// The node has just started and reads its file.
        case loading = "LOADING"
        /// The replica has no master.
        case masterDown = "MASTERDOWN"
        /// A script runs for too long.
        case busy = "BUSY"
        /// The script is not known: send it whole.
        case noScript = "NOSCRIPT"
        /// The memory is full, and nothing may be evicted.
        case outOfMemory = "OOM"
        /// Saving to disk fails, so writes are refused.
        case misconfigured = "MISCONF"
        /// No password was sent.
        case noAuth = "NOAUTH"
        /// The password is wrong.
        case wrongPassword = "WRONGPASS"
        /// The user may not do that.
        case noPermission = "NOPERM"
        /// Anything else.
        case other = ""
    }

    /// What it is.
    public let kind: Kind
    /// The line without what it repeats of the command's arguments, which may be secret; for logs, at most 200
    /// characters.
    public let line: String

    /// - Parameter line: without the leading `-`.
    public init(line: String) {
        // A Redis whose AUTH was renamed away answers AUTH by repeating the password.
        let end = line.firstRange(of: ", with args beginning with")?.lowerBound ?? line.endIndex
        self.line = String(String.UnicodeScalarView(line[..<end].unicodeScalars.prefix(200)))
        kind = Kind(rawValue: String(line.prefix { $0 != " " })) ?? .other
    }

    /// The same of an answer to `AUTH`: one that nobody knows may repeat the password, and is cut to its first word.
    var ofLogin: RedisRefusal {
        let isKnown = kind != .other || line == "ERR unknown command 'AUTH'" || line.hasPrefix("ERR AUTH <password> ")
        return isKnown ? self : RedisRefusal(line: line.prefix { $0 != " " } + " was the answer to AUTH")
    }

    /// The same in other words if it repeats this, or the beginning of it where the line was cut.
    func hiding(_ password: String?) -> RedisRefusal {
        guard let password, !password.isEmpty, line.contains(password.prefix(8)) else { return self }
        return RedisRefusal(line: "\(kind == .other ? "ERR" : kind.rawValue) in words that repeat the password")
    }

    /// Whether only an operator can mend it: never to be treated as a passing trouble.
    public var isConfigurationFault: Bool {
        switch kind {
        case .noAuth, .wrongPassword, .noPermission: true
        default: false
        }
    }
}

/// Why there is no reply.
public enum RedisError: Error, Hashable, Sendable {
    /// There is no connection, and none could be made yet.
    case notConnected
    /// The connection ended after the command was sent: it may or may not have been carried out.
    case connectionLost
    /// No reply in time. The command may still be carried out.
    case timeout
    /// Too many commands wait on this connection.
    case pipelineFull
    /// The reply breaks the protocol or our caps; the connection is closed.
    case protocolViolation
    /// Redis answered with an error.
    case refused(RedisRefusal)
    /// The client was shut down.
    case shutDown
}
