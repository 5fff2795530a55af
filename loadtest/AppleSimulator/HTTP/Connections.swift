// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// The open connections, to limit their number and to close them all.
final class Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let maximumConnections: Int

    init(maximumConnections: Int) {
        self.maximumConnections = maximumConnections
    }

    /// Adds a connection until it closes. Returns false at the limit.
    func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = state.withLock { state in
            guard !state.isClosed, state.channels.count < maximumConnections else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return true
    }

    /// Closes all connections and admits no more.
    func closeAll() async {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }
}
