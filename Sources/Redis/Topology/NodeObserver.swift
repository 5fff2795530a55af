// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Forwards a node's events, and requests a refresh if the masters may have changed.
struct NodeObserver: RedisObserver {
    /// Receives all events; nil for nodes that are only asked about others.
    let observer: (any RedisObserver)?
    let refresher: TopologyRefresher

    func observe(_ event: RedisEvent) {
        observer?.observe(event)
        switch event {
        case .connected(.commands), .disconnected(.commands, _), .published: refresher.want()
        default: break
        }
    }
}
