// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Secrets
package import Settings

extension RedisClientConfiguration {
    /// Creates the client's configuration; nil without Redis.
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
    /// Describes a fault of a TLS file.
    fileprivate init(_ fault: RedisTLS.Fault) {
        switch fault {
        case .authorities(let path):
            self.init(location: path, fault: "is not a PEM file with readable certificates (gateway.redis.ca_file)")
        case .certificate(let path):
            self.init(
                location: path, fault: "is not a PEM file with readable certificates (gateway.redis.certificate_file)"
            )
        case .privateKey(let path):
            self.init(
                location: path, fault: "is not a PEM file with a readable private key (gateway.redis.key_file)")
        case .unmatched:
            self.init(
                location: "gateway.redis.key_file", fault: "is not the key of gateway.redis.certificate_file")
        }
    }
}
