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
            let tls =
                try url.usesTLS
                ? RedisTLS(
                    caFile: configuration.caFile, certificateFile: configuration.certificateFile,
                    keyFile: configuration.keyFile) : nil
            try self.init(url, tls: tls)
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        node.credentials.user = configuration.user ?? url.credentials.user
        node.credentials.password = configuration.password?.secret.exposed ?? url.credentials.password
        node.commandDeadline = configuration.deadline
        node.connectDeadline = configuration.connectDeadline
        node.scripts =
            RedisFlightLeases.scripts + RedisFleetState.scripts + NodeRegistry.scripts + RedisPurges.scripts
            + [RedisTokenBuckets.script]
        node.trackedPrefixes = [
            SharedCacheNames.resultPrefix, RedisFlightLeases.prefix, RedisFleetState.pausePrefix,
            RedisFleetState.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension ConfigurationProblem {
    /// Describes a fault of a TLS file.
    fileprivate init(_ fault: RedisTLS.Fault) {
        let pem = "is not a PEM file with"
        let (location, text) =
            switch fault {
            case .authorities(let path): (path, "\(pem) readable certificates (gateway.redis.ca_file)")
            case .certificate(let path): (path, "\(pem) readable certificates (gateway.redis.certificate_file)")
            case .privateKey(let path): (path, "\(pem) a readable private key (gateway.redis.key_file)")
            case .unmatched: ("gateway.redis.key_file", "is not the key of gateway.redis.certificate_file")
            }
        self.init(location: location, fault: text)
    }
}
