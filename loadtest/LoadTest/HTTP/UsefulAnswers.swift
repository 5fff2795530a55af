// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The threshold that every run has: at least one answer is what its requests are made for. A run without any measured
/// a mistake, such as a wrong path, and no work of the server's.
struct UsefulAnswers: Hashable, Sendable {
    /// The outcomes that are no use to anybody who sends such requests.
    let useless: Set<LoadOutcome>
    let url: String

    static let expression = "useful>0%"

    /// - Parameters:
    ///   - mix: the shares of kinds of requests by their names; none if the requests are about no evidence.
    ///   - requests: so few that a kind with a small share may be missing by chance.
    init(mix: [String: Double], requests: Int, url: String) {
        self.url = url
        func share(_ kinds: [RequestKind]) -> Double { kinds.reduce(0) { $0 + mix[$1.rawValue, default: 0] } }
        func isSent(_ share: Double) -> Bool { pow(1 - min(1, share), Double(requests)) < Self.chance }
        let genuine = share(RequestKind.allCases.filter(\.isGenuine))
        var useless: Set<LoadOutcome> = [.error, .shed]
        if mix.isEmpty || isSent(genuine + share([.forged])) { useless.insert(.refused) }
        if isSent(genuine) { useless.formUnion([.rejected, .undecided]) }
        self.useless = useless
    }

    /// The chance of a false alarm.
    private static let chance = 1e-6

    /// Returns the missed threshold and a hint for the user; nil if an answer was useful, or nothing ended yet.
    ///
    /// - Parameter given: the user's own thresholds. One that allows this outcome, and is met, takes its place.
    func missed(
        by measurements: LoadMeasurements, beside given: [Threshold]
    ) -> (threshold: RunResult.Threshold, hint: String)? {
        let counts = measurements.counts
        let ended = LoadOutcome.allCases.filter { counts[$0] > 0 }
        guard let most = ended.max(by: { counts[$0] < counts[$1] }), useless.isSuperset(of: ended) else { return nil }
        let metrics: Set<Threshold.Metric> = most == .error ? [.share(most), .errors] : [.share(most)]
        let isWanted = given.contains { metrics.contains($0.metric) && $0.check(measurements).met }
        guard !isWanted else { return nil }
        let threshold = RunResult.Threshold(expression: Self.expression, measured: 0, unit: "%", met: false)
        return (threshold, "\(hint(most, measurements)) --debug shows one request and its answer.")
    }

    private func hint(_ outcome: LoadOutcome, _ measurements: LoadMeasurements) -> String {
        let status = measurements.statuses.max { $0.value < $1.value }?.key
        return switch outcome {
        case .rejected:
            "The server rejected everything. It must trust the root that signed it: GATEWAY_TRUST_ROOTS with the file of "
                + "--root, or with root.pem and jws-root.pem of the --corpus."
        case .undecided:
            "The server decided about nothing. Without Apple, use --mode local; else see its settings for Apple."
        case .refused, .shed, .error:
            switch status {
            case nil: "No request was answered; see the errors, and --timeout. The address is \(url)."
            case 401: "The server wants a key: --api-key."
            case 403: "The server does not allow this key the app of the requests."
            case 404, 405: "Is the path right? The requests go to \(url), and a gateway verifies at /v1/verify."
            case 413: "The server takes no bodies of this size: --receipt-bytes."
            case 429: "The limits of the client, or of its address, are used up."
            case 400 where url.hasSuffix("/apple/notifications") || useless.contains(.rejected):
                "The server takes none of it. For notifications it must trust jws-root.pem of the --corpus for Production."
            case let status?: "Status \(status) was the answer to most requests."
            }
        default: "No answer was of any use."
        }
    }
}

extension RunResult {
    /// True if no answer was useful, whatever the rate: most were neither errors nor shed.
    var isMistaken: Bool {
        let isUseless = thresholds.contains { $0.expression == UsefulAnswers.expression && !$0.met }
        return isUseless && ![LoadOutcome.error.rawValue, LoadOutcome.shed.rawValue].contains(outcomes.first?.outcome)
    }
}

extension RequestKind {
    /// True if a server should take what is sent as genuine.
    fileprivate var isGenuine: Bool { ![.malformed, .forged, .unknownID].contains(self) }
}
