// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
internal import Synchronization

/// The last survey of the deferred verifications in the store, which each scrape reads.
package final class JobSurveys: Sendable {
    private let survey = Mutex<JobSurvey?>(nil)

    package init() {}

    /// Records a survey. While the store is unreachable, the last survey counts.
    package func record(_ new: JobSurvey) {
        survey.withLock { $0 = new }
    }

    /// The last survey; nil before the first.
    package var last: JobSurvey? { survey.withLock { $0 } }

    package var readings: [MetricReading] {
        [
            reading(MetricCatalogue.jobsWaiting) { Double($0.waiting) },
            reading(MetricCatalogue.jobBytes) { Double($0.bytes) },
            reading(MetricCatalogue.jobOldest) { ($0.oldestAge ?? .zero) / .seconds(1) },
            reading(MetricCatalogue.jobsFailed) { Double($0.failed) },
            reading(MetricCatalogue.jobKeptBytes) { Double($0.keptBytes) },
        ]
    }

    private func reading(
        _ family: MetricFamily, _ value: @escaping @Sendable (JobSurvey) -> Double
    ) -> MetricReading {
        MetricReading(family) { value(self.last ?? JobSurvey()) }
    }
}
