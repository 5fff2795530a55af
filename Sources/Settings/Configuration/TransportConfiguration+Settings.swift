// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTransport
internal import Secrets

extension TransportConfiguration {
    /// Creates the transport to Apple.
    package init(_ configuration: AppleConfiguration) {
        self.init()
        let urls = [configuration.productionURL, configuration.sandboxURL]
        totalTimeout = configuration.deadline
        // The deadline suffices: a slow first byte from Apple may take seconds, and the answer is still useful.
        lowSpeedTime = .zero
        maximumConnectionsPerHost = configuration.concurrency
        // Both endpoints at their maximum concurrency.
        maximumRequests = 2 * configuration.concurrency
        caFile = configuration.caFile
        proxy = configuration.proxy?.exposed
        allowsPlainHTTP = urls.contains(where: \.isPlain)
        allowsPrivateAddresses = configuration.allowsPrivateAddresses || urls.contains(where: \.isLoopback)
        userAgent = "receipt-gateway/\(Version.current)"
    }
}
