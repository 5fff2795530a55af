// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One contestant in a closed loop for a while.
struct BenchTurn: Hashable, Sendable {
    let name: Contestant.Name
    let requests: Int
    let seconds: Double
    let serverCPUSeconds: Double
    /// Of the generator's core; near 1 it is what limits.
    let generatorShare: Double
    /// Answers by outcome, in the order of all cases.
    let outcomes: [Int]
    /// Of each answer, on average, its head included.
    let answerBytes: Int

    var requestsPerSecond: Double { Double(requests) / seconds }
    /// Requests for each second of the server's own processor time: what one core that does nothing else would do. Who
    /// else uses the machine changes it less than the rate, and whether the generator kept the core busy hardly.
    var requestsPerBusySecond: Double { Double(requests) / max(serverCPUSeconds, 0.001) }

    /// Beyond this the generator's core had nothing left to give.
    static let saturation = 0.95
    var isGeneratorSaturated: Bool { generatorShare > Self.saturation }
}

extension BenchTurn {
    init(_ name: Contestant.Name, _ measurements: LoadMeasurements, serverCPUSeconds: Double) {
        let counts = measurements.counts
        self.init(
            name: name, requests: counts.answered, seconds: max(measurements.seconds, 0.001),
            serverCPUSeconds: serverCPUSeconds, generatorShare: measurements.cpuShare(workers: 1),
            outcomes: counts.outcomes, answerBytes: counts.receivedBytes / max(1, counts.answered))
    }
}

/// All turns of those that were measured together, run by run.
struct BenchTurns: Hashable, Sendable {
    private(set) var all: [BenchTurn] = []

    mutating func append(_ turn: BenchTurn) {
        all.append(turn)
    }

    func rates(_ name: Contestant.Name, _ value: (BenchTurn) -> Double) -> Rates {
        Rates(all.filter { $0.name == name }.map(value))
    }

    /// How many times as much one does for each second of its processor time: the median of the ratios within each run.
    func ratio(_ name: Contestant.Name, to other: Contestant.Name) -> Double {
        rates(name, \.requestsPerBusySecond).ratio(to: rates(other, \.requestsPerBusySecond))
    }

    /// A row for each contestant, in the order of all names.
    var rows: [BenchReport.Contestant] {
        LoadTest.Contestant.Name.allCases.filter { name in all.contains { $0.name == name } }.map { name in
            BenchReport.Contestant(
                name: name, requestsPerSecond: rates(name, \.requestsPerSecond).median.rounded(toDecimals: 0),
                requestsPerBusySecond: rates(name, \.requestsPerBusySecond).median.rounded(toDecimals: 0),
                generatorShare: rates(name, \.generatorShare).median.rounded(toDecimals: 2))
        }
    }
}
