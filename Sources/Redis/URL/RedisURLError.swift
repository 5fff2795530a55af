// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is not a URL of Redis, without any part of the text, which may hold a password.
public enum RedisURLError: String, Error, Hashable, Sendable, CaseIterable {
    /// More bytes than `RedisURL.Limits.maximumBytes`.
    case tooLong = "the URL is too long"
    /// A space, a control character, or a character beyond ASCII.
    case invalidCharacter = "the URL has a character that must be written as %XX"
    case unknownScheme =
        "the URL must begin with redis://, redis+unix://, redis+sentinel:// or redis+cluster:// (rediss for TLS)"
    case fragment = "the URL has a fragment"
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    case invalidPercentEncoding = "a % in the URL must be followed by two hexadecimal digits, of UTF-8"
    /// More than one `@`, or more than one `:` in front of it.
    case invalidUserInfo = "write an @ or a : in the user or password as %40 or %3A"
    /// User or password, of Redis or of the sentinels, is longer than `RedisURL.Limits.maximumCredentialBytes`.
    case credentialsTooLong = "user or password is too long"
    case noHost = "the URL names no host"
    /// More hosts than `RedisURL.Limits.maximumHosts`.
    case tooManyHosts = "the URL names too many hosts"
    case severalHosts = "the URL has several hosts: use redis+sentinel:// for sentinels, redis+cluster:// for a cluster"
    case repeatedHost = "the URL names a host twice"
    case invalidHost = "a host in the URL is neither a name nor an address"
    case invalidPort = "a port in the URL is not a number from 1 to 65535"
    /// Not a plain number within `RedisURL.Limits.databases`.
    case invalidDatabase = "the database in the URL is not a number from 0 to 9999"
    case databaseInCluster = "a cluster only has database 0"
    case noMasterName = "the URL of sentinels must name the master, as in /mymaster"
    /// A character that sentinels do not accept.
    case invalidMasterName =
        "the master's name is too long or has characters other than letters, digits, '.', '-' and '_'"
    case unexpectedPath = "the URL's path has too many parts"
    /// A host before a socket, which is always on this machine.
    case hostOfSocket = "the URL of a Unix socket must have three slashes after the scheme"
    case invalidSocketPath = "the path of the Unix socket is missing or too long"
    /// An option that is unknown, or unknown for this scheme.
    case unknownOption = "the URL has an unknown option"
    case repeatedOption = "the URL has an option twice"
}

extension RedisURLError: CustomStringConvertible {
    /// The message.
    public var description: String { rawValue }
}
