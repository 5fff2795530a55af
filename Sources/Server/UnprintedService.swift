// SPDX-License-Identifier: Apache-2.0

internal import ServiceLifecycle

/// A service that prints only its name. The service group logs its services, and a struct is printed with all its
/// fields: configuration, and the secrets in it.
struct UnprintedService: Service, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let description: String
    private let work: @Sendable () async throws -> Void

    init(_ service: any Service) {
        description = "\(type(of: service))"
        work = { try await service.run() }
    }

    /// Creates a service whose work the shutdown cancels.
    init(named name: String, untilShutdown work: @escaping @Sendable () async -> Void) {
        description = name
        self.work = { await cancelWhenGracefulShutdown(work) }
    }

    /// Creates a service that waits for the shutdown, and then ends something.
    init(_ name: String, atShutdown end: @escaping @Sendable () async -> Void) {
        description = name
        work = {
            try? await gracefulShutdown()
            await end()
        }
    }

    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    func run() async throws { try await work() }
}
