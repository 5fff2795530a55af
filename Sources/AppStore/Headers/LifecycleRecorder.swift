// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// Records Apple's announcements about its endpoints, and publishes them to the other nodes.
struct LifecycleRecorder: Sendable {
    let lifecycle: UpstreamLifecycle
    let fleetState: any FleetState

    /// - Parameter isUsable: true for the header of an answer that only Apple gives. The header of another answer, such
    ///   as an error page, cannot withdraw an announcement.
    func record(_ head: ReplyHead, of endpoint: UpstreamEndpoint, isUsable: Bool) {
        let announcements = head.announcements
        let dates = LifecycleDates(
            // Deprecated already, without a date: an early date. Not the second 0, which means in the metrics that an
            // endpoint is not deprecated.
            deprecation: announcements.deprecation.map { deprecation in
                switch deprecation {
                case .dated(let date): date
                case .undated: Timestamp(millisecondsSince1970: 1000)
                }
            }, sunset: announcements.sunset)
        let isNews: Bool
        if dates != LifecycleDates() || !announcements.links.isEmpty {
            isNews = lifecycle.record(dates, links: announcements.links, of: endpoint)
        } else {
            isNews = isUsable && lifecycle.recordAbsence(of: endpoint, at: head.receivedAt)
        }
        if isNews { fleetState.publish(.lifecycle(dates, links: announcements.links), of: endpoint) }
    }
}
