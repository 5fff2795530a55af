// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Secrets
package import Settings

extension RedisClientConfiguration {
    /// The connections as configured; nil if there is nothing to connect to.
    package init?(_ configuration: RedisConfiguration) throws(ConfigurationProblems) {
        guard let url = configuration.url else { return nil }
        do throws(RedisTLS.Fault) {
            try self.init(url, tls: url.usesTLS ? RedisTLS(configuration) : nil)
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        credentials = RedisURL.Credentials(
            user: configuration.user ?? url.credentials.user,
            password: configuration.password?.secret.exposed ?? url.credentials.password)
        commandDeadline = configuration.deadline
        connectDeadline = configuration.connectDeadline
        scripts =
            RedisFlightLeases.scripts + RedisFleetState.scripts + NodeRegistry.scripts + RedisPurges.scripts
            + [RedisTokenBuckets.script]
        trackedPrefixes = [
            SharedCacheNames.resultPrefix, RedisFlightLeases.prefix, RedisFleetState.pausePrefix,
            RedisFleetState.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension RedisTLS {
    fileprivate init(_ configuration: RedisConfiguration) throws(Fault) {
        try self.init(
            caFile: configuration.caFile, certificateFile: configuration.certificateFile,
            keyFile: configuration.keyFile)
    }
}

extension ConfigurationProblem {
    /// A file for TLS that is not what it should be.
    fileprivate init(_ fault: RedisTLS.Fault) {
        switch fault {
        case .authorities(let path):
            self.init(
                location: path, fault: "is no PEM file with certificates that can be read (gateway.redis.ca_file)")
        case .certificate(let path):
            self.init(
                location: path,
                fault: "is no PEM file with certificates that can be read (gateway.redis.certificate_file)"
            )
        case .privateKey(let path):
            self.init(
                location: path, fault: "is no PEM file with a private key that can be read (gateway.redis.key_file)")
        case .unmatched:
            self.init(
                location: "gateway.redis.key_file", fault: "is not the key of gateway.redis.certificate_file")
        }
    }
}
