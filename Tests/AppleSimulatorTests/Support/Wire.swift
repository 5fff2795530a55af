// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import ReceiptForge
import Testing

@testable import AppleSimulator

/// The bytes a client received on one connection until it was closed.
struct Exchange {
    let text: String
    /// True if the connection ended with RST rather than FIN.
    let wasReset: Bool

    var status: Int? { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
    var body: String { text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "" }

    /// Returns the values of a field, in order. The name is compared with case.
    func values(of name: String) -> [String] {
        head.filter { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    private var head: [Substring] {
        (text.firstRange(of: "\r\n\r\n").map { text[..<$0.lowerBound] } ?? "").split(separator: "\r\n")
    }
}

/// A client that sends and receives raw bytes.
struct Wire {
    let port: Int
    var certificate: IssuedCertificate?

    init(_ url: String, trusting certificate: IssuedCertificate? = nil) {
        port = URL(string: url)?.port ?? 0
        self.certificate = certificate
    }

    /// Sends one request and collects bytes until the server closes the connection.
    func ask(_ method: String, _ path: String, _ body: String = "") async throws -> Exchange {
        try await exchange(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
    }

    func verify(_ body: String) async throws -> Exchange {
        try await ask("POST", "/verifyReceipt", body)
    }

    func exchange(_ request: String) async throws -> Exchange {
        let (channel, exchange) = try await open()
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return try await exchange.get()
    }

    /// Opens a connection; the exchange is complete when it is closed.
    func open() async throws -> (any Channel, EventLoopFuture<Exchange>) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Exchange.self)
        // A faulty server must not block the tests.
        let alarm = loop.scheduleTask(in: .seconds(60)) { promise.fail(NoAnswer()) }
        promise.futureResult.whenComplete { _ in alarm.cancel() }
        let tls = try certificate.map(Self.context)
        do {
            let channel = try await ClientBootstrap(group: loop).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    }
                    try pipeline.addHandler(Collector(promise))
                }
            }.connect(host: "127.0.0.1", port: port).get()
            return (channel, promise.futureResult)
        } catch {
            promise.fail(error)
            throw error
        }
    }

    private static func context(trusting certificate: IssuedCertificate) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: certificate.der, format: .der)])
        return try NIOSSLContext(configuration: configuration)
    }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let promise: EventLoopPromise<Exchange>
    private var received = ByteBuffer()

    init(_ promise: EventLoopPromise<Exchange>) {
        self.promise = promise
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        received.writeBuffer(&part)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if (error as? IOError)?.errnoCode == ECONNRESET {
            promise.succeed(Exchange(text: String(buffer: received), wasReset: true))
        } else if case NIOSSLError.uncleanShutdown = error {
            return
        } else {
            promise.fail(error)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.succeed(Exchange(text: String(buffer: received), wasReset: false))
    }
}

/// Runs a test with a simulator, and stops it.
func withApple(
    _ yaml: String = "", tls: TLSIdentity? = nil, clock: ManualClock = ManualClock(),
    _ body: (AppleSimulator) async throws -> Void
) async throws {
    var configuration = AppleSimulator.Configuration(pki: Samples.pki)
    configuration.scenario = try Scenario(yaml: yaml)
    configuration.tls = tls
    configuration.now = { clock.now }
    let apple = try await AppleSimulator.start(configuration)
    do {
        try await body(apple)
        await apple.stop()
    } catch {
        await apple.stop()
        throw error
    }
}

/// Calls the production endpoint of a new simulator once.
func exchange(_ yaml: String, _ body: String) async throws -> Exchange {
    var exchange: Exchange?
    try await withApple(yaml) { exchange = try await Wire($0.productionURL).verify(body) }
    return try #require(exchange)
}
