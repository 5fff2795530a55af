// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// One reply in RESP2.
package enum RedisValue: Hashable, Sendable {
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

    package enum Limits {
        /// The largest integer of a reply, of either sign. A larger integer is clamped: sums of as many replies as a
        /// node reads cannot overflow, whatever a writer to Redis has stored.
        package static let integer: Int64 = 1 << 48
        /// The bytes of a status or an error that are read.
        static let lineBytes = 512
    }

    package var bytes: [UInt8]? { if case .string(let bytes) = self { bytes } else { nil } }

    /// The text of a string; nil for another reply, and for a long text beyond ASCII.
    package var text: String? { bytes.flatMap { String(outside: $0) } }

    /// An integer, or a string of digits; both clamped to `Limits.integer`.
    package var number: Int64? {
        if case .integer(let number) = self { number } else { bytes.flatMap { Int64(stored: $0) } }
    }

    /// A number of entries; nil for another reply, and for a number that no key can have.
    package var entryCount: Int? {
        guard case .integer(let number) = self, 0...Int64(UInt32.max) ~= number else { return nil }
        return Int(number)
    }
}

extension Int64 {
    /// Reads digits that Redis stores, clamped to `RedisValue.Limits.integer`; nil for anything else.
    package init?(stored digits: some Collection<UInt8>) {
        // The longest number of 64 bits has a sign and nineteen digits.
        guard digits.count <= 20, let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        self = number.clampedLikeReplies
    }

    var clampedLikeReplies: Int64 {
        Swift.min(Swift.max(self, -RedisValue.Limits.integer), RedisValue.Limits.integer)
    }
}

/// An error reply of Redis. The kinds need different reactions.
package struct RedisRefusal: Error, Hashable, Sendable {
    /// The first word of an error reply.
    package enum Kind: String, CaseIterable, Sendable {
        /// The key is on another node of the cluster, permanently.
        case moved = "MOVED"
        /// The key is on another node of the cluster, for this command.
        case ask = "ASK"
        /// Some of the keys are being moved; the same command works a moment later.
        case tryAgain = "TRYAGAIN"
        case clusterDown = "CLUSTERDOWN"
        /// The node is a replica: another node became the master.
        case readOnly = "READONLY"
        /// The node has just started and loads its data.
        case loading = "LOADING"
        case masterDown = "MASTERDOWN"
        case busy = "BUSY"
        /// The script is not cached: send its source.
        case noScript = "NOSCRIPT"
        /// The memory is full, and eviction is impossible.
        case outOfMemory = "OOM"
        /// Saving to disk fails, so Redis rejects writes.
        case misconfigured = "MISCONF"
        case noAuth = "NOAUTH"
        case wrongPassword = "WRONGPASS"
        case noPermission = "NOPERM"
        case other = ""
    }

    package let kind: Kind
    /// The error reply without the command's arguments, which may be secret; for logs, at most 200 characters.
    package let line: String

    /// True if the key has a value of another type: it is not the gateway's.
    package var isWrongType: Bool { line.hasPrefix("WRONGTYPE") }

    /// - Parameter line: without the leading `-`.
    package init(line: String) {
        // A Redis whose AUTH was renamed repeats the password in its reply to AUTH.
        let end = line.firstRange(of: ", with args beginning with")?.lowerBound ?? line.endIndex
        self.line = String(String.UnicodeScalarView(line[..<end].unicodeScalars.prefix(200)))
        kind = Kind(rawValue: String(Self.cause(line).prefix { $0 != " " })) ?? .other
    }

    /// Returns the error of a command in a script, which Redis before 7 reports with the script around it:
    /// `ERR Error running script (call to f_…): @user_script:5: @user_script: 5: -READONLY You can't write …`.
    private static func cause(_ line: String) -> Substring {
        guard line.hasPrefix("ERR Error running script"), let mark = line.ranges(of: ": -").last else {
            return line[...]
        }
        return line[mark.upperBound...]
    }

    /// The error as a reply to `AUTH`: an unknown error may repeat the password, and is cut to its first word.
    var ofLogin: RedisRefusal {
        let isKnown = kind != .other || line == "ERR unknown command 'AUTH'" || line.hasPrefix("ERR AUTH <password> ")
        return isKnown ? self : RedisRefusal(line: line.prefix { $0 != " " } + " (rest of the reply to AUTH hidden)")
    }

    /// Returns the error without a text that repeats the password, or its beginning where the text was cut.
    func hiding(_ password: String?) -> RedisRefusal {
        guard let password, !password.isEmpty, line.contains(password.prefix(8)) else { return self }
        return RedisRefusal(line: "\(kind == .other ? "ERR" : kind.rawValue) (reply hidden: it repeats the password)")
    }

    /// True if only the operator can fix it: never a temporary fault.
    package var isConfigurationFault: Bool { [.noAuth, .wrongPassword, .noPermission].contains(kind) }
}

package enum RedisError: Error, Hashable, Sendable {
    case notConnected
    /// The connection ended after the command was sent: it may have been executed.
    case connectionLost
    /// No reply in time. The command may still be executed.
    case timeout
    case pipelineFull
    /// The reply breaks the protocol or our limits; the connection is closed.
    case protocolViolation
    case refused(RedisRefusal)
    case shutDown

    /// True if the command may have been executed.
    package var mayFollowExecution: Bool {
        switch self {
        case .connectionLost, .timeout, .protocolViolation, .shutDown: true
        case .notConnected, .pipelineFull, .refused: false
        }
    }
}
