// SPDX-License-Identifier: Apache-2.0

/// The limits for clients and scenarios of the simulator.
package struct SimulatorLimits: Hashable, Sendable {
    /// The maximum bytes of a request's body: a receipt of nine megabytes in base64, and some room.
    var maximumRequestBytes = 13 << 20
    var maximumScenarioBytes = 1 << 20
    var maximumPhases = 1000
    /// The maximum number of connections of both endpoints together; further connections are closed at once.
    var maximumConnections = 10_000
    /// The maximum bytes of cached requests and answers.
    var maximumCachedBytes = 256 << 20
    /// The maximum number of distinct receipts counted in the statistics.
    var maximumDistinctReceipts = 1 << 20
    /// The maximum number of periods that a story adds to a subscription; the newest are kept.
    var maximumAddedPeriods: Int64 = 12
    /// The maximum number of kept customers: from evidence, and from populations that were asked about.
    var maximumAccounts = 100_000
    var maximumPopulations = 100
    /// The maximum number of customers of one population.
    var maximumPopulation: Int64 = 10_000_000
    /// The maximum pieces of evidence in one `PUT /accounts`.
    var maximumEvidence = 10_000
    var maximumMassExtensions = 100
    /// The maximum number of apps with retention messages.
    var maximumMessagingApps = 100
    /// The maximum number of images, of messages and of default messages, each, of an app.
    var maximumMessages = 2000
    /// The maximum number of server notifications that are kept, of about 20,000 bytes each; the newest are.
    var maximumNotifications = 10_000
    /// The maximum number of notifications that one request makes.
    var maximumNotificationsPerRequest: Int64 = 10_000
    /// The maximum number of copies of a notification that are sent in parallel.
    var maximumCopies = 100
    /// The maximum number of notifications in flight, delayed, or waiting for a retry.
    var maximumWaitingNotifications = 20_000
    var maximumNotificationsInFlight = 64
    /// The maximum time of an attempt to send a notification.
    var notificationTimeout: Duration = .seconds(30)
    var maximumNotificationURLs = 100
    /// The maximum number of purchases that notifications add to a customer. The transaction IDs of a population have
    /// room for them.
    var maximumAddedPurchases = 90
    /// The maximum number of apps and operations whose calls of the Server API are counted.
    var maximumQuotas = 1000
    /// The maximum bytes of a bearer token.
    var maximumTokenBytes = 4096
    /// The maximum bytes of signed data that is kept to be sent again.
    var maximumSignedBytes = 128 << 20
    /// The maximum latency, and the time for which a client without an answer is held.
    var maximumWait: Duration = .seconds(600)

    package init() {}
}
