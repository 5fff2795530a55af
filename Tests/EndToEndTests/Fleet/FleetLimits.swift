// SPDX-License-Identifier: Apache-2.0

/// Policies as in the clients file, and the bounds they guarantee.
enum FleetLimits {
    /// Returns a bucket that refills within a second.
    static func perSecond(_ quota: Int, isLeased: Bool = true) -> String {
        one(quota, in: 1, isLeased: isLeased)
    }

    /// Returns a bucket that refills within this many seconds.
    static func one(_ quota: Int, in seconds: Int, isLeased: Bool) -> String {
        "    limits: [{name: limit, quota: \(quota), window: \(seconds)s, lease: \(isLeased ? "auto" : "never")}]\n"
    }
}

extension [RequestOutcome] {
    /// Returns a window in which more requests were admitted than `burst + rate·t`, wherever each was admitted between
    /// its beginning and its end; nil if there is none.
    func excess(burst: Double, perSecond rate: Double) -> (admitted: Int, allowed: Double, window: Duration)? {
        let admitted = filter { $0.status == 200 }
        for begin in admitted.map(\.start) {
            // Requests that began within the window, by their end: each end closes a window that holds all before it.
            let within = admitted.filter { $0.start >= begin }.map(\.end).sorted()
            for (number, end) in within.enumerated() {
                let allowed = burst + rate * ((end - begin) / .seconds(1))
                if Double(number + 1) > allowed { return (number + 1, allowed, end - begin) }
            }
        }
        return nil
    }

    /// Returns the number of admitted requests, if that is at most six tenths of what one bucket would admit; else nil.
    func shortfall(burst: Double, perSecond rate: Double) -> (admitted: Int, possible: Int)? {
        let admitted = filter { $0.status == 200 }.count, possible = admissions(burst: burst, perSecond: rate)
        return admitted > possible * 6 / 10 ? nil : (admitted, possible)
    }

    /// Returns the number that one bucket would admit, each at the time of its answer. On a machine that stood still
    /// tokens are lost; they do not count.
    private func admissions(burst: Double, perSecond rate: Double) -> Int {
        let ends = map(\.end).sorted()
        var tokens = burst, last = ends.first, count = 0
        for end in ends {
            tokens = Swift.min(burst, tokens + rate * ((end - (last ?? end)) / .seconds(1)))
            last = end
            guard tokens >= 1 else { continue }
            (tokens, count) = (tokens - 1, count + 1)
        }
        return count
    }
}
