// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser

/// The target, its connections and the requests: the common options of `http` and `search`.
struct TrafficOptions: ParsableArguments {
    @Argument(
        help: .value(
            "url",
            "The server, such as http://127.0.0.1:8080 (then the path is /v1/verify). With a path that ends "
                + "with /verifyReceipt requests have Apple's form."))
    var url: String?

    @Option(name: .shortAndLong, help: .value("count", "Connections of all workers together."))
    var connections = 64

    @Option(help: .value("count", "Requests under way on one connection; above 1 is pipelining, which few clients do."))
    var pipeline = 1

    @Option(name: [.customShort("t"), .long], help: .value("count", "Threads that send and receive, a core each."))
    var workers = 1

    @Option(
        name: [.customShort("H"), .long],
        help: .value("field", "A header field of every request, 'Name: value'; repeatable."))
    var header: [HeaderField] = []

    @Option(help: .value("key", "The client's key, sent as 'Authorization: Bearer'."))
    var apiKey: String?

    @Option(
        help: .value(
            "file",
            "Trust the certificates in this file, in PEM, and not those of the system, where the URL is "
                + "https."))
    var caFile: String?

    @Flag(help: "Trust any certificate, where the URL is https.")
    var insecure = false

    @Option(help: "How requests follow each other: evenly, or by chance as from many customers.")
    var arrival = ArrivalPattern.constant

    @Option(help: .value("count", "Distinct receipts that are sent again and again."))
    var keys = 1000

    @Option(help: .value("count", "Customers of the simulated Apple ('apple') that requests are about; see --mix."))
    var customers = 1000

    @Option(
        help: .value("exponent", "How much more popular the first of them are: 0 makes all alike, 1 is Zipf's law."))
    var zipf = 0.0

    @Option(
        help: .value(
            "kind=share,...",
            "Shares of receipts sent again (repeat), genuine and never sent before (fresh), "
                + "damaged (malformed), with a false signature (forged), and with a subscription that ends during "
                + "the run (near-expiry); and of requests about customers of 'apple': with a signed transaction "
                + "(signed), with a receipt (customer-receipt; in Apple's form verify-receipt), with a transaction ID "
                + "alone (known-id), and with an ID that Apple does not know (unknown-id); and of Apple's "
                + "notifications about them at /apple/notifications: new ones (notification), and the same again "
                + "(duplicate-notification); together 1."))
    var mix = RequestMix.repeated

    @Option(
        help: .value(
            "count",
            "Fresh receipts that are made at most, about a millisecond each; then they are sent again, with "
                + "a warning."))
    var freshReceipts = 20_000

    @Option(
        help: .value(
            "count",
            "Notifications that are made at most, 20 KB and three signatures each; then they are sent again, with a "
                + "warning. Customers take turns."))
    var notifications = 20_000

    @Option(help: .value("id", "The app that notifications are about."))
    var bundleID = SimulatedCustomers.bundleID

    @Option(help: .value("bytes", "The size of a request's body, about; decides how many purchases."))
    var receiptBytes = 8192

    @Option(help: "The source of answers that requests name; without it, the gateway decides.")
    var mode: VerifyMode?

    @Option(help: .value("seconds", "The oldest answer of Apple's that clients accept."))
    var maxAge: Int?

    @Option(help: .value("folder", "Take the authority and the genuine receipts from a folder that 'corpus' wrote."))
    var corpus: String?

    @Option(
        help: .value(
            "file",
            "Write the certificate that a gateway must trust (GATEWAY_TRUST_ROOTS); without a URL, that is "
                + "all."))
    var root: String?

    @Flag(
        help:
            "Send the corpus's receipts of more than 64 KiB, too, the largest of nearly 7 MB: few customers have such.")
    var giants = false

    @Option(help: .value("file", "Send this file instead of receipts, to any server; - is standard input."))
    var body: String?

    @Option(
        help: .value(
            "file",
            "Send requests to the URLs in this file, a line each and all of one server, in turn; - is standard input. "
                + "They take the place of the URL."))
    var urls: String?

    @Option(
        name: [.customShort("X"), .long],
        help: ArgumentHelp(
            "The method, with --body, with --urls, or without any body; without it, receipts and bodies are sent with "
                + "POST."))
    var method: String?

    @Option(help: .value("number", "Receipts, their order and chance follow from this number."))
    var seed: UInt64 = 1

    @Option(help: .value("time", "How long a request may take, and may wait for a connection."))
    var timeout = TimeSpan(seconds: 10)

    func validate() throws {
        try check(namesServer || root != nil, "Which server? Name its URL, such as http://127.0.0.1:8080.")
        try check(url == nil || urls == nil, "--urls name the server; leave out the URL '\(url ?? "")'.")
        try check(urls != "-" || body != "-", "Standard input is either --urls or --body.")
        try check(corpus != nil || !giants, "--giants are of a --corpus.")
        if url != nil { _ = try target() }
        try check("--connections", connections, in: 1...100_000)
        try check("--pipeline", pipeline, in: 1...1000)
        try check("--workers", workers, in: 1...256)
        try check(workers <= connections, "Each worker needs a connection: --workers is more than --connections.")
        try check("--keys", keys, in: 1...10_000_000)
        try check("--customers", customers, in: 1...Self.maximumCustomers)
        try check("--zipf", zipf, in: 0...10)
        try check("--fresh-receipts", freshReceipts, in: 1...1_000_000)
        try check("--notifications", notifications, in: 1...Self.maximumNotifications)
        try check(
            bundleID.wholeMatch(of: /[A-Za-z0-9.\-]{1,155}/) != nil,
            "--bundle-id takes letters, digits, points and hyphens, such as com.example.shop.")
        try check("--receipt-bytes", receiptBytes, in: 1...1_000_000)
        try check("--max-age", maxAge, in: 0...1_000_000_000)
        try check(timeout.seconds >= 0.001, "--timeout takes at least 1ms.")
        let memory = keys * receiptBytes
        try check(memory <= 8 << 30, "\(keys.grouped) receipts of \(receiptBytes.grouped) bytes take too much memory.")
        try check(caFile == nil || !insecure, "--insecure trusts any certificate; leave out --ca-file.")
        try checkMethod()
    }

    static let maximumCustomers = 1_000_000
    /// Four gigabytes of them.
    static let maximumNotifications = 200_000

    /// Throws if a server elsewhere could not trust the signed transactions: another copy of the authority has another root.
    func checkAuthority() throws {
        try check(
            corpus != nil || mix[.signed] == 0 && !mix.sendsNotifications,
            "--mix \(mix[.signed] > 0 ? "signed" : "notification") needs the --corpus whose jws-root.pem the gateway "
                + "trusts, and which 'apple --pki' uses.")
    }

    private func checkMethod() throws {
        guard let method else { return }
        let isToken = !method.isEmpty && method.utf8.allSatisfy(\.isTokenCharacter)
        try check(
            isToken && !["HEAD", "CONNECT"].contains(method), "--method takes a method such as GET, not '\(method)'.")
    }

    /// Returns the server; throws a sentence if the URL names none.
    func target() throws -> LoadTarget {
        try target(url ?? "", sendsReceipts ? "/v1/verify" : "/")
    }

    var namesServer: Bool { url != nil || urls != nil }

    var sendsReceipts: Bool { body == nil && method == nil && urls == nil }

    var fields: [HeaderField] {
        header + .bearer(apiKey)
    }

    var trust: TLSTrust { insecure ? .anything : caFile.map(TLSTrust.file) ?? .system }

    func plan() throws -> LoadPlan {
        var plan = LoadPlan(target: try target(), trust: trust)
        (plan.connections, plan.pipelining, plan.workers) = (connections, pipeline, workers)
        (plan.timeout, plan.seed) = (.seconds(timeout.seconds), seed)
        return plan
    }
}
