// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import RedisStore
internal import Settings
internal import Telemetry

// The wiring of comparisons, for metrics and the status page.
extension Wiring {
    /// The time between two looks of the status page at the fleet's results.
    private static let surveyInterval: Duration = .seconds(10)

    /// Returns what compares answers; nil unless the configuration wants comparisons.
    func comparisons(_ apple: AppleConnection?, into fleet: FleetStore) -> AnswerComparisons? {
        guard let apple, configuration.comparison.mode != .off else { return nil }
        return AnswerComparisons(
            configuration.comparison, apple.verification, store: fleet.comparisons, limiter: fleet.ports.limiter,
            observe: metrics.comparisons.observe, clock: dependencies.clock)
    }

    /// Returns the service that compares the queued answers. The shutdown forgets those that wait.
    func service(_ comparisons: AnswerComparisons?, _ fleet: FleetStore) -> UnprintedService? {
        guard let comparisons else { return nil }
        let (metrics, clock) = (metrics.comparisons, dependencies.clock)
        return UnprintedService(named: "ComparisonService") {
            await withDiscardingTaskGroup { group in
                group.addTask { await comparisons.run() }
                group.addTask {
                    repeat {
                        // While the store is unreachable, the last report counts.
                        if let tallies = try? await fleet.comparisons.tallies(at: clock()) { metrics.record(tallies) }
                    } while (try? await Task.sleep(for: Self.surveyInterval)) != nil
                }
            }
        }
    }
}
