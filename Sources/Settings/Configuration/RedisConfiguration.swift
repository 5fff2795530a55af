// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis
package import Secrets

/// The settings of the Redis that all nodes share.
package struct RedisConfiguration: Hashable, Sendable {
    package var url: RedisURL?
    package var user: String?
    package var password: Password?
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var deadline: Duration = .milliseconds(50)
    package var connectDeadline: Duration = .milliseconds(250)
    package var expectedNodes = 1

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
