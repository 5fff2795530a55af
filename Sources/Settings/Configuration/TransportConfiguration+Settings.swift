// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTransport
internal import Secrets

extension TransportConfiguration {
    /// The transport to Apple as configured.
    package init(_ configuration: AppleConfiguration) {
        self.init()
        let urls = [configuration.productionURL, configuration.sandboxURL]
        totalTimeout = configuration.deadline
        // The deadline is enough: a slow Apple may take seconds to the first byte, and its answer is still wanted.
        lowSpeedTime = .zero
        maximumConnectionsPerHost = configuration.concurrency
        // Both endpoints, each with all its places taken.
        maximumRequests = 2 * configuration.concurrency
        caFile = configuration.caFile
        proxy = configuration.proxy?.exposed
        allowsPlainHTTP = urls.contains(where: \.isPlain)
        allowsPrivateAddresses = configuration.allowsPrivateAddresses || urls.contains(where: \.isLoopback)
        userAgent = "receipt-gateway/\(Version.current)"
    }
}
