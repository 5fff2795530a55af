// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import ReceiptForge

struct CorpusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "corpus",
        abstract: "Write receipts, the answers a verifier must give to them, and the roots to trust.",
        usage: "receipt-loadtest corpus --out <folder> [<options>]",
        discussion: """
            Makes authorities of its own, random genuine sandbox receipts signed by them, and every known way of being \
            wrong once: in app receipts, in signed transactions (JWS) and in transaction receipts. The same seed gives \
            the same files, byte for byte, apart from ECDSA signatures. The folder then holds:

              root.pem      the root of both kinds of receipts, to be trusted for the
                            environment Sandbox
              jws-root.pem  the root of JWS, to be trusted for Sandbox and Production
              intermediates.pem
                            the intermediates of transaction receipts, which do not
                            carry them
              AuthKey_ID.p8 the key of the simulated App Store Server API
              pki.json      the seed, from which `receipt-loadtest apple --pki`
                            makes the keys again
              *.b64         one receipt each, in base64, as a request carries it
              *.jws         one JWS each: a transaction, a notification of Apple's, or
                            other signed data
              index.json    for each file the kind of evidence, the expected answer,
                            its reason, what a genuine app receipt says, and under
                            `needs` the files with which a verifier gives that
                            answer; it trusts one of the two roots

            With --format the genuine app receipts are also written as requests for another load tester:

              vegeta        vegeta.json, a target on each line, with its body in
                            base64 (vegeta attack -format=json)
              k6            k6.json, an array of requests, and k6.js, a script
                            that sends them and checks the verdict

            Examples:

              receipt-loadtest corpus --out receipts --count 10000
              GATEWAY_TRUST_ROOTS=receipts/root.pem receipt-gateway serve
              GATEWAY_TRUST_ROOTS=receipts/jws-root.pem=Sandbox+Production \\
                receipt-gateway serve
              GATEWAY_TRUST_ROOTS=receipts/root.pem \\
                GATEWAY_TRUST_INTERMEDIATES=receipts/intermediates.pem \\
                receipt-gateway serve
              receipt-loadtest corpus --out receipts --format vegeta \\
                --url http://127.0.0.1:8080

            The keys follow from the seed as well, so anybody can make them: trust these roots on test machines only.
            """)

    @Option(
        help: .value(
            "folder", "Folder to write to; made if it is missing. Receipts of an earlier corpus in it are replaced."))
    var out: String

    @Option(help: .value("receipts", "Random genuine receipts, beside the faulty and odd ones."))
    var count = 1000

    @Option(help: .value("number", "Everything follows from this number."))
    var seed = Self.defaultSeed

    @Flag(help: "Write into a folder that holds other files too; none of those is removed.")
    var force = false

    @Option(help: "Write requests for this load tester, too.")
    var format: ToolFormat?

    @Option(help: .value("url", "The server of those requests; without a path it is /v1/verify."))
    var url = "http://127.0.0.1:8080"

    @Option(
        name: [.customShort("H"), .long],
        help: .value("field", "A header field of those requests, 'Name: value'; repeatable."))
    var header: [HeaderField] = []

    func validate() throws {
        _ = try target()
        try check("--count", count, in: 1...Self.maximumCount)
    }

    func run() async throws {
        StandardOutput.write(try await write() + "\n")
    }

    static let defaultSeed: UInt64 = 1
    /// Eight gigabytes of files.
    private static let maximumCount = 1_000_000

    func write() async throws -> String {
        let folder = CorpusFolder(path: out)
        try folder.makeRoom(force: force)
        let corpus = Corpus(seed: seed, genuineReceipts: count)
        let progress = ProgressLine(unit: "files", total: corpus.count)
        let duration = try await ContinuousClock().measure {
            try await folder.write(corpus) { progress.update(done: $0) }
        }
        guard let format else { return summary(of: corpus, duration) }
        let command = try ToolRequests(folder: folder, target: try target(), fields: header)
            .write(try folder.genuineReceipts(count), for: format)
        return summary(of: corpus, duration) + "\nFor \(format.rawValue): \(command)"
    }

    private func target() throws(ValidationError) -> LoadTarget { try target(url, "/v1/verify", option: "--url: ") }

    private func summary(of corpus: Corpus, _ duration: Duration) -> String {
        let faults = corpus.count - corpus.genuineReceipts
        let roots = "\(out)/root.pem,\(out)/jws-root.pem=Sandbox+Production"
        return "Wrote \(count.grouped) genuine and \(faults.grouped) faulty or odd receipts and JWS to \(out) in "
            + "\(duration.seconds.fixed(1)) s; try them with: GATEWAY_APPLE_ENABLED=false GATEWAY_TRUST_ROOTS="
            + "\(roots.shellWord) receipt-gateway serve"
    }
}

extension ForgedPKI {
    /// The authority of a folder that this command wrote; without a folder, the authority of its default seed.
    init(corpus folder: String?) throws(CorpusAuthorityError) {
        guard let folder else {
            self.init(seed: CorpusCommand.defaultSeed)
            return
        }
        try self.init(corpusDirectory: folder)
    }
}
