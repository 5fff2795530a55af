// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import HTTPServer
internal import HTTPTypes

extension Problem {
    static let signedDataNotKept = invalidQuery(
        EventsQuery.Parameter.signedData,
        "is not available: this gateway does not keep what Apple signed. Set gateway.events.keep_signed_data")

    static let appsRequired = invalidQuery(
        EventsQuery.Parameter.bundleID,
        "is required: this client may use any app, or more than \(EventReader.Limits.apps). Name those to read")

    static let tooManyApps = invalidQuery(
        EventsQuery.Parameter.bundleID, "may name at most \(EventReader.Limits.apps) apps")

    static let notABundleID = invalidQuery(EventsQuery.Parameter.bundleID, "is no bundle ID")

    static let invalidCursor = Problem(
        .badRequest, .invalidCursor,
        "This is no cursor of the apps that the request reads. Begin without a cursor, or with after=latest.")

    static let eventsNotStored: Problem = {
        var problem = Problem(
            .serviceUnavailable, .eventsNotStored,
            "Events would end with this process. Configure Redis, or set gateway.notifications.allow_volatile.",
            headerFields: [.retryAfter: "60"])
        problem.fault = "store_volatile"
        return problem
    }()

    static let tooManyReadersOfClient: Problem = {
        var problem = Problem(
            .tooManyRequests, .quotaExceeded,
            "This client already has \(WaitingReaders.Limits.perClient) waiting requests and streams on this node.",
            headerFields: [.retryAfter: "10"])
        problem.violatedPolicies = [WaitingReaders.Limits.policyName]
        return problem
    }()

    static let tooManyReaders = Problem(
        .serviceUnavailable, .overloaded,
        "This node already has \(WaitingReaders.Limits.total) waiting requests and streams. Retry without wait, or later.",
        headerFields: [.retryAfter: "10"])
}
