// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Policies as the clients file has them, and what they promise.
enum FleetLimits {
    /// A bucket of so many tokens, which arrive within a second.
    static func perSecond(_ quota: Int, isLeased: Bool = true) -> String {
        one(quota, in: 1, isLeased: isLeased)
    }

    /// A bucket of so many tokens, which arrive within so many seconds.
    static func one(_ quota: Int, in seconds: Int, isLeased: Bool) -> String {
        "    limits: [{name: limit, quota: \(quota), window: \(seconds)s, lease: \(isLeased ? "auto" : "never")}]\n"
    }
}

extension [Visit] {
    /// Requests of which a limit let so many through as no bucket may, whenever each of them was let through between its
    /// beginning and its end: nil if there is no window in which more were admitted than `burst + rate·t`.
    func excess(burst: Double, perSecond rate: Double) -> (admitted: Int, allowed: Double, window: Duration)? {
        let admitted = filter { $0.status == 200 }
        for begin in admitted.map(\.start) {
            // Those that began within the window, by their end: each end closes a window that holds all before it.
            let within = admitted.filter { $0.start >= begin }.map(\.end).sorted()
            for (number, end) in within.enumerated() {
                let allowed = burst + rate * ((end - begin) / .seconds(1))
                if Double(number + 1) > allowed { return (number + 1, allowed, end - begin) }
            }
        }
        return nil
    }

    /// How many of them were let through, if that is hardly more than half of what one bucket would; else nil.
    func shortfall(burst: Double, perSecond rate: Double) -> (admitted: Int, possible: Int)? {
        let admitted = filter { $0.status == 200 }.count, possible = admissions(burst: burst, perSecond: rate)
        return admitted > possible * 6 / 10 ? nil : (admitted, possible)
    }

    /// How many of them one bucket would let through, each at the moment when it was answered. A machine that stood still lets
    /// tokens run over; nobody is to blame for those.
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
