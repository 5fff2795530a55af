// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ServiceLifecycle

/// A service that shows its type and nothing else. The service group logs the services it is given, and a struct is
/// printed with all it holds: configuration, and the secrets in it.
struct UnprintedService: Service, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let service: any Service

    var description: String { "\(type(of: service))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    func run() async throws { try await service.run() }
}
