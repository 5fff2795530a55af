// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Passes on what happens at a node, and gives the lookout a reason where masters may have changed.
struct NodeObserver: RedisObserver {
    /// Who is told everything; nil for nodes that are only asked where others are.
    let observer: (any RedisObserver)?
    /// Who looks where the masters are.
    let refresher: TopologyRefresher

    func observe(_ event: RedisEvent) {
        observer?.observe(event)
        switch event {
        case .connected(.commands), .disconnected(.commands, _), .published: refresher.want()
        default: break
        }
    }
}
