// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis
package import Secrets

/// The settings of the Redis that all nodes share.
package struct RedisConfiguration: Hashable, Sendable {
    /// The URL; nil if there is no Redis.
    package var url: RedisURL?
    /// The Redis ACL user name; overrides the URL's.
    package var user: String?
    /// The password; overrides the URL's.
    package var password: Password?
    /// A PEM file with CA certificates to trust instead of the system's.
    package var caFile: String?
    /// A PEM file with the gateway's client certificate.
    package var certificateFile: String?
    /// A PEM file with the client certificate's private key.
    package var keyFile: String?
    /// The time limit of a command.
    package var deadline: Duration = .milliseconds(50)
    /// The time limit of an attempt to connect, including the login.
    package var connectDeadline: Duration = .milliseconds(250)
    /// The number of nodes that share the limits until Redis has reported it.
    package var expectedNodes = 1
}

/// A password chosen elsewhere: unlike a `Secret` it may be short.
package struct Password: Hashable, Sendable {
    package let secret: Secret
}

extension Password: ConfigurationValue {
    package static var isSecret: Bool { true }
    package static var accepted: String { "a text, from the environment or a file" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        secret = Secret(text)
    }

    package var configurationText: String { Secret.redacted }
}

extension RedisURL: ConfigurationValue {
    /// The URL may contain a password.
    package static var isSecret: Bool { true }
    package static var accepted: String {
        "redis://host:6379/0, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379 "
            + "or redis+unix:///path; with rediss in place of redis for TLS, and user:password@ in front of the hosts"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        do throws(RedisURLError) {
            try self.init(text)
        } catch {
            throw ConfigurationValueFault(description: "\(error)")
        }
    }

    package var configurationText: String { description }
}

// MARK: - Contradictions

extension RedisConfiguration {
    /// The problems of settings that are valid by themselves, but not together.
    var contradictions: [ConfigurationProblem] {
        [settingsWithoutURL, filesWithoutTLS, halfACertificate, passwordTwice].compactMap { $0 }
    }

    private var settingsWithoutURL: ConfigurationProblem? {
        guard url == nil, user != nil || password != nil || caFile != nil || certificateFile != nil || keyFile != nil
        else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.url",
            fault: """
                is missing, but other Redis settings are set; set GATEWAY_REDIS_URL, such as \
                redis://redis.internal:6379, or remove them all to run without Redis
                """)
    }

    private var filesWithoutTLS: ConfigurationProblem? {
        guard let url, !url.usesTLS, caFile != nil || certificateFile != nil || keyFile != nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.url",
            fault: """
                is without TLS, but certificate files are configured; write rediss instead of redis, or \
                remove GATEWAY_REDIS_CA_FILE, GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE
                """)
    }

    private var halfACertificate: ConfigurationProblem? {
        guard (certificateFile == nil) != (keyFile == nil) else { return nil }
        return ConfigurationProblem(
            location: certificateFile == nil ? "gateway.redis.certificate_file" : "gateway.redis.key_file",
            fault: """
                is missing: a client certificate and its private key are needed together; set both \
                GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE, or neither
                """)
    }

    private var passwordTwice: ConfigurationProblem? {
        guard password != nil, url?.credentials.password != nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.password",
            fault: """
                is set, and gateway.redis.url contains a password as well; remove it from the URL, where it is easily \
                shown by accident
                """)
    }
}
