// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a text is no URL of Redis. Nothing of the text is in it: it may hold a password.
public enum RedisURLError: String, Error, Hashable, Sendable, CaseIterable {
    /// More bytes than `RedisURL.Limits.maximumBytes`.
    case tooLong = "the URL is too long"
    /// A space, a control character, or something beyond ASCII.
    case invalidCharacter = "the URL has a character that must be written as %XX"
    /// Not one of the schemes.
    case unknownScheme =
        "the URL begins with none of redis://, redis+unix://, redis+sentinel://, redis+cluster:// and rediss:// alike"
    /// `#` and what follows it.
    case fragment = "the URL has a fragment"
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    case invalidPercentEncoding = "a % in the URL is not followed by what it must be"
    /// More than one `@`, or more than one `:` in front of it.
    case invalidUserInfo = "user or password holds an @ or a : that must be written as %40 or %3A"
    /// User or password, of Redis or of the sentinels, is longer than `RedisURL.Limits.maximumCredentialBytes`.
    case credentialsTooLong = "user or password is too long"
    /// Nobody to connect to.
    case noHost = "the URL names no host"
    /// More hosts than `RedisURL.Limits.maximumHosts`.
    case tooManyHosts = "the URL names too many hosts"
    /// More than one, where neither sentinels nor a cluster are meant.
    case severalHosts = "the URL names several hosts: sentinels are redis+sentinel://, a cluster redis+cluster://"
    /// The same host and port twice.
    case repeatedHost = "the URL names a host twice"
    /// Neither a name nor an address.
    case invalidHost = "a host in the URL is neither a name nor an address"
    /// Not a number from 1 to 65535.
    case invalidPort = "a port in the URL is not a number from 1 to 65535"
    /// Not a plain number within `RedisURL.Limits.databases`.
    case invalidDatabase = "the database in the URL is not a number from 0 to 9999"
    /// A cluster has only database 0.
    case databaseInCluster = "a cluster has no database but 0"
    /// Sentinels watch many masters.
    case noMasterName = "the URL of sentinels does not name the master, as in /mymaster"
    /// Other characters than sentinels accept.
    case invalidMasterName =
        "the master's name has other characters than letters, digits, '.', '-' and '_', or too many"
    /// More of a path than there is a meaning for.
    case unexpectedPath = "the URL's path is longer than it may be"
    /// A Unix socket is on this machine.
    case hostOfSocket = "the URL of a Unix socket names a host: a third slash is missing"
    /// No path, or none that a socket can have.
    case invalidSocketPath = "the path of the Unix socket is missing or too long"
    /// An option that means nothing, or nothing here.
    case unknownOption = "the URL has an option that is not known"
    /// An option that stands there twice.
    case repeatedOption = "the URL has an option twice"
}

extension RedisURLError: CustomStringConvertible {
    /// In one sentence.
    public var description: String { rawValue }
}
