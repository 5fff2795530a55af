// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import Synchronization
internal import Telemetry

/// The state of the App Store Server API's client that each scrape reads.
///
/// The client is built after the metrics, because it reports its events to them.
final class ServerAPIReadings: Sendable {
    private struct State {
        // The client's observer holds the registry, which holds this object.
        weak var client: ServerAPIClient?
    }

    private let state = Mutex(State())

    /// Reads this client from now on.
    func follow(_ client: ServerAPIClient) {
        state.withLock { $0.client = client }
    }

    private var client: ServerAPIClient? { state.withLock { $0.client } }

    var readings: [MetricReading] {
        UpstreamEnvironment.allCases.map { environment in
            MetricReading(MetricCatalogue.serverAPIClockSkew, environment.labelValues) {
                (self.client?.clockSkew(in: environment) ?? .zero) / .seconds(1)
            }
        }
    }

    var pausedKeys: SeriesReading {
        SeriesReading(MetricCatalogue.serverAPIKeyPaused) {
            let keys = self.client?.pausedKeys ?? []
            return Dictionary(keys.map { ([$0.keyID, $0.bundleID], 1) }) { first, _ in first }
        }
    }

    /// Returns the reading of the apps that depend on `verifyReceipt`.
    static func appsWithoutKey(_ bundleIDs: @escaping @Sendable () -> [String]) -> SeriesReading {
        SeriesReading(MetricCatalogue.appWithoutServerAPIKey) {
            Dictionary(bundleIDs().map { ([$0], 1) }) { first, _ in first }
        }
    }
}
