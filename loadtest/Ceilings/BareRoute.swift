// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Hummingbird
internal import Logging
internal import NIOPosix

/// A route of the framework the gateway is built with, without middleware.
struct BareRoute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hummingbird", abstract: "Answer from a bare Hummingbird route, on one event loop.")

    @OptionGroup var options: CeilingOptions

    func run() async throws {
        let answer = ByteBuffer(string: options.answer)
        let router = Router()
        for path in ["/v1/verify", "/"] {
            router.post(RouterPath(path)) { request, _ in
                for try await _ in request.body {}
                return Response(
                    status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: answer))
            }
        }
        var logger = Logger(label: "receipt-ceilings")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: options.port)),
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
        try await application.runService()
    }
}
