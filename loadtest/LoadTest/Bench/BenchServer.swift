// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A server that is measured, on a core of its own.
struct BenchServer: Sendable {
    let name: Name
    let port: Int
    let processes: ProcessTree
    private(set) var connections = BenchPlan.manyConnections

    func over(_ connections: Int) -> BenchServer {
        var server = self
        server.connections = connections
        return server
    }

    enum Name: String, CaseIterable, Codable, Sendable {
        /// With the default configuration, which logs each request.
        case gateway = "receipt-gateway"
        case gatewaySampled = "receipt-gateway, log sampled"
        case gatewayUnlogged = "receipt-gateway, no log"
        case nio = "bare SwiftNIO"
        case nginx
        case varnish = "Varnish"

        var isGateway: Bool { [.gateway, .gatewaySampled, .gatewayUnlogged].contains(self) }
    }

    init(_ gateway: RunningGateway, as name: Name = .gateway) {
        self.name = name
        port = gateway.dataPort
        processes = ProcessTree(root: gateway.program.processIdentifier)
    }

    init(_ name: Name, _ server: ListeningProgram) {
        self.name = name
        port = server.port
        processes = ProcessTree(root: server.program.processIdentifier)
    }
}

extension [BenchServer] {
    var cpuSeconds: Double { map(\.processes.cpuSeconds).reduce(0, +) }
}

struct PeerStart: Sendable {
    let templates: String
    let folder: ScratchFolder
    let core: Int?

    /// Starts the ceiling, which answers everything with so many bytes, its head included.
    func ceiling(answerBytes: Int, core: Int?) async throws -> ListeningProgram {
        try await ListeningProgram.start(ThisProgram.path, core: core) { port in
            ["ceiling", "--port", "\(port)", "--bytes", "\(max(2, answerBytes - Self.headBytes))"]
        }
    }

    /// The approximate size of a ceiling's status line and two fields.
    private static let headBytes = 75

    func nginx(upstream: Int) async throws -> ListeningProgram {
        let home = try folder.makeFolder("nginx")
        // Workers of a master that is root would run as a user that may not write here.
        let user = getuid() == 0 ? "root" : "nobody"
        return try await ListeningProgram.start("nginx", core: core) { port in
            let text = try template("nginx.conf").filled([
                "port": "\(port)", "upstream": "\(upstream)", "folder": home, "user": user,
            ])
            return ["-e", "stderr", "-p", home, "-c", try folder.write(text, to: "nginx.conf"), "-g", "daemon off;"]
        }
    }

    func varnish(upstream: Int) async throws -> ListeningProgram {
        let home = try folder.makeFolder("varnish")
        let text = try template("varnish.vcl").filled(["upstream": "\(upstream)"])
        let file = try folder.write(text, to: "varnish.vcl")
        return try await ListeningProgram.start("varnishd", core: core) { port in
            ["-F", "-j", "none", "-a", "127.0.0.1:\(port)", "-f", file, "-n", home, "-s", "malloc,256m"]
        }
    }

    private func template(_ name: String) throws(BenchError) -> String {
        let path = "\(templates)/\(name)"
        guard let text = try? FileError.text(of: path) else { throw .noPeers(path) }
        return text
    }
}

/// One server in a closed loop for a while.
struct BenchTurn: Hashable, Sendable {
    let name: BenchServer.Name
    let connections: Int
    let requests: Int
    let seconds: Double
    let serverCPUSeconds: Double
    /// The share of the generator's core that was used; near 1 it is the limit.
    let generatorShare: Double
    /// Answers by outcome, in the order of all cases.
    let outcomes: [Int]
    /// The mean size of an answer, its head included.
    let answerBytes: Int

    var requestsPerSecond: Double { Double(requests) / seconds }
    /// Requests for each second of the server's processor time. Other programs change it less than the rate.
    var requestsPerBusySecond: Double { Double(requests) / max(serverCPUSeconds, 0.001) }
    var microsecondsPerRequest: Double { 1e6 / requestsPerBusySecond }

    /// The share beyond which the generator's core had nothing left to give.
    static let saturation = 0.95
}

extension BenchTurn {
    init(_ server: BenchServer, _ measurements: LoadMeasurements, serverCPUSeconds: Double) {
        let counts = measurements.counts
        self.init(
            name: server.name, connections: server.connections, requests: counts.answered,
            seconds: max(measurements.seconds, 0.001),
            serverCPUSeconds: serverCPUSeconds, generatorShare: measurements.cpuShare(workers: 1),
            outcomes: counts.outcomes, answerBytes: counts.receivedBytes / max(1, counts.answered))
    }
}

extension [BenchTurn] {
    private func of(_ name: BenchServer.Name, over connections: Int) -> [BenchTurn] {
        filter { $0.name == name && $0.connections == connections }
    }

    /// Returns the ratio of requests per second of processor time in the turns of one run; not a number without both turns.
    func ratio(
        _ name: BenchServer.Name, to other: BenchServer.Name, over connections: Int
    ) -> Double {
        guard let turn = of(name, over: connections).first, let other = of(other, over: connections).first else {
            return .nan
        }
        return turn.requestsPerBusySecond / other.requestsPerBusySecond
    }

    /// A row for each server and number of connections, in the order of all names.
    var rows: [FigureReport.Server] {
        Set(map(\.connections)).sorted(by: >).flatMap { connections in
            BenchServer.Name.allCases.compactMap { of($0, over: connections).row }
        }
    }

    /// The medians of one server's turns; nil without a turn.
    private var row: FigureReport.Server? {
        first.map { turn in
            FigureReport.Server(
                name: turn.name, connections: turn.connections,
                requestsPerSecond: map(\.requestsPerSecond).median.rounded(toDecimals: 0),
                requestsPerBusySecond: map(\.requestsPerBusySecond).median.rounded(toDecimals: 0),
                generatorCpuShare: map(\.generatorShare).median.rounded(toDecimals: 2))
        }
    }
}
