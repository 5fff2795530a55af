// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import PrometheusExport
internal import Telemetry

extension BodyBudget {
    /// The readings taken at each scrape.
    package var readings: [MetricReading] {
        [
            MetricReading(MetricCatalogue.bodiesInFlight) { Double(self.reserved) },
            MetricReading(MetricCatalogue.bodiesInFlightLimit) { Double(self.capacity) },
        ]
    }
}

extension ServerLifecycle {
    /// The readings taken at each scrape.
    package var readings: [MetricReading] {
        Stage.allCases.map { stage in
            MetricReading(MetricCatalogue.lifecycle, stage.labelValues) { self.stage == stage ? 1 : 0 }
        }
    }
}
