// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis
package import Secrets

/// The store that all nodes share.
package struct RedisConfiguration: Hashable, Sendable {
    /// Where it is; nil for none.
    package var url: RedisURL?
    /// Whom to be for it, in place of the URL's user.
    package var user: String?
    /// The password, in place of the URL's.
    package var password: Password?
    /// A PEM file with the authorities to trust instead of the system's.
    package var caFile: String?
    /// A PEM file with our certificate.
    package var certificateFile: String?
    /// A PEM file with its private key.
    package var keyFile: String?
    /// How long a command may take.
    package var deadline: Duration = .milliseconds(50)
    /// How long an attempt to connect may take, the login included.
    package var connectDeadline: Duration = .milliseconds(250)
    /// How many nodes to reckon with until Redis has told.
    package var expectedNodes = 1
}

/// A password that somebody else chose: unlike a `Secret` it may be short.
package struct Password: Hashable, Sendable {
    /// The text, which nothing shows.
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
    /// It may hold a password.
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

    /// Without user and password.
    package var configurationText: String { description }
}

// MARK: - Contradictions

extension RedisConfiguration {
    /// What is wrong although each setting is right by itself.
    var contradictions: [ConfigurationProblem] {
        [settingsWithoutURL, filesWithoutTLS, halfACertificate, passwordTwice].compactMap { $0 }
    }

    private var settingsWithoutURL: ConfigurationProblem? {
        guard url == nil, user != nil || password != nil || caFile != nil || certificateFile != nil || keyFile != nil
        else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.url",
            fault: """
                is missing, and other settings of Redis are there; set GATEWAY_REDIS_URL, such as \
                redis://redis.internal:6379, or remove them all to run without Redis
                """)
    }

    private var filesWithoutTLS: ConfigurationProblem? {
        guard let url, !url.usesTLS, caFile != nil || certificateFile != nil || keyFile != nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.url",
            fault: """
                is without TLS, and files with certificates are configured for it; write rediss in place of redis, or \
                remove GATEWAY_REDIS_CA_FILE, GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE
                """)
    }

    private var halfACertificate: ConfigurationProblem? {
        guard (certificateFile == nil) != (keyFile == nil) else { return nil }
        return ConfigurationProblem(
            location: certificateFile == nil ? "gateway.redis.certificate_file" : "gateway.redis.key_file",
            fault: """
                is missing: a certificate is of no use without its key, nor a key without its certificate; set both \
                GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE, or neither
                """)
    }

    private var passwordTwice: ConfigurationProblem? {
        guard password != nil, url?.credentials.password != nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.redis.password",
            fault: """
                is set, and gateway.redis.url holds a password as well; remove it from the URL, where it is easily \
                shown by accident
                """)
    }
}
