// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// One verification: its verdict, and how it is known.
struct VerificationLabels: SeriesLabels {
    /// The word for a verdict, without its reason.
    enum VerdictLabel: String, CaseIterable, Sendable {
        case genuine, rejected, undecided
    }

    let verdict: VerdictLabel
    let source: Provenance.Source
    let cache: Provenance.Cache
    /// Nil where the receipt's own word for it cannot be trusted.
    let environment: Environment?

    static let labelNames = ["verdict", "source", "cache", "environment"]
    var labelValues: [String] {
        [verdict.rawValue, source.rawValue, cache.rawValue, environment?.rawValue ?? "unknown"]
    }

    static let allCases = VerdictLabel.allCases.flatMap { verdict in
        Provenance.Source.allCases.flatMap { source in
            Provenance.Cache.allCases.flatMap { cache in
                (Environment.allCases + [nil]).map { environment in
                    VerificationLabels(verdict: verdict, source: source, cache: cache, environment: environment)
                }
            }
        }
    }
}

extension VerificationLabels {
    /// The labels an answer is counted under.
    init(_ answer: Answer) {
        self.init(
            verdict: VerdictLabel(answer.verdict), source: answer.provenance.source, cache: answer.provenance.cache,
            environment: answer.receipt?.environment)
    }
}

extension VerificationLabels.VerdictLabel {
    fileprivate init(_ verdict: Verdict) {
        switch verdict {
        case .genuine: self = .genuine
        case .rejected: self = .rejected
        case .undecided: self = .undecided
        }
    }
}

extension Rejection: SeriesLabels {
    static var labelNames: [String] { ["rule"] }
    var labelValues: [String] { [name] }
}

extension UndecidedReason: SeriesLabels {
    static var labelNames: [String] { ["reason"] }
}
