// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The rates of all entrants for receipts of one size.
struct Measurements: Sendable {
    private var rates: [Entrant: Rates]

    init(_ rates: [Entrant: Rates] = [:]) {
        self.rates = rates
    }

    mutating func append(_ rate: Double, of entrant: Entrant) {
        rates[entrant, default: Rates()].append(rate)
    }

    /// An entrant's rates; none if it took no turn.
    subscript(contender: Contender, threads threads: Int) -> Rates {
        rates[Entrant(contender: contender, threads: threads), default: Rates()]
    }
}

extension Slice {
    /// Lets the entrants take turns.
    ///
    /// Drift of the machine hits all alike, because turns are short; and nobody always follows the same neighbour,
    /// because each round begins with another entrant.
    ///
    /// - Parameter afterEachTurn: called so often as there are entrants and rounds.
    func measure(_ entrants: [Entrant], rounds: Int, afterEachTurn: () -> Void) throws -> Measurements {
        var measurements = Measurements()
        for round in 0..<rounds {
            for position in entrants.indices {
                let entrant = entrants[(position + round) % entrants.count]
                measurements.append(try receiptsPerSecond(of: entrant), of: entrant)
                afterEachTurn()
            }
        }
        return measurements
    }
}
