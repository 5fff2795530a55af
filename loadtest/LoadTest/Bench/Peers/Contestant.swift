// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// A server that is measured: on a core of its own, whatever it is.
struct Contestant: Sendable {
    /// As tables name it.
    let name: Name
    let port: Int
    let processes: ProcessTree

    enum Name: String, CaseIterable, Codable, Sendable {
        /// With the default configuration: each request has its line in the log.
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

/// How a contestant other than the gateway is started.
struct PeerStart: Sendable {
    let ceilingsPath: String
    /// loadtest/peers.
    let templates: String
    let folder: ScratchFolder
    let core: Int?

    /// The ceiling, which answers everything with so many bytes, what frames them included.
    func ceiling(answerBytes: Int, core: Int?) async throws -> ListeningProgram {
        let port = try await FreePort.find()
        let bytes = max(2, answerBytes - Self.headBytes)
        return try await ListeningProgram.start(
            ceilingsPath, ["nio", "--port", "\(port)", "--bytes", "\(bytes)"], port: port, core: core)
    }

    /// Of a ceiling's answer, about: a status line and two fields.
    private static let headBytes = 75

    func nginx(upstream: Int) async throws -> ListeningProgram {
        let port = try await FreePort.find()
        let home = try folder.makeFolder("nginx")
        // Workers of a master that is root would be somebody who may not write here.
        let user = getuid() == 0 ? "root" : "nobody"
        let text = try PeerTemplate("nginx.conf", in: templates).filled([
            "port": "\(port)", "upstream": "\(upstream)", "folder": home, "user": user,
        ])
        let file = try folder.write(text, to: "nginx.conf")
        return try await ListeningProgram.start(
            "nginx", ["-e", "stderr", "-p", home, "-c", file, "-g", "daemon off;"], port: port, core: core)
    }

    func varnish(upstream: Int) async throws -> ListeningProgram {
        let port = try await FreePort.find()
        let home = try folder.makeFolder("varnish")
        let text = try PeerTemplate("varnish.vcl", in: templates).filled(["upstream": "\(upstream)"])
        let file = try folder.write(text, to: "varnish.vcl")
        let arguments = ["-F", "-j", "none", "-a", "127.0.0.1:\(port)", "-f", file, "-n", home, "-s", "malloc,256m"]
        return try await ListeningProgram.start("varnishd", arguments, port: port, core: core)
    }
}
