// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// Decides which requests have spans.
package struct TraceSampler: Hashable, Sendable {
    /// The samplers of OpenTelemetry's specification (`OTEL_TRACES_SAMPLER`).
    package enum Rule: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
        case alwaysOn = "always_on"
        case alwaysOff = "always_off"
        case ratio = "traceidratio"
        case parentOrOn = "parentbased_always_on"
        case parentOrOff = "parentbased_always_off"
        case parentOrRatio = "parentbased_traceidratio"
    }

    let rule: Rule
    /// The share of traces, from 0 to 1, of the rules with a ratio.
    let ratio: Double

    package init(_ rule: Rule, ratio: Double) { (self.rule, self.ratio) = (rule, ratio) }

    /// Returns true for a request that has spans.
    /// - Parameters:
    ///   - sender: the trace of a client that is trusted; nil for none. Another client's flag and trace ID do not count,
    ///     because the client chooses them.
    ///   - new: a new trace.
    func samples(_ sender: TraceContext?, new: TraceContext) -> Bool {
        switch rule {
        case .parentOrOn: return sender?.isSampled ?? true
        case .parentOrOff: return sender?.isSampled ?? false
        case .parentOrRatio: return sender?.isSampled ?? (new.fraction < ratio)
        case .alwaysOn: return true
        case .alwaysOff: return false
        case .ratio: return (sender ?? new).fraction < ratio
        }
    }
}
