// SPDX-License-Identifier: Apache-2.0

internal import API
internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import JSON
internal import NIOCore
internal import Receipts
internal import Resilience
internal import Settings
internal import Telemetry

struct VerifyFileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a receipt or a signed transaction in a file.",
        usage: """
            receipt-gateway verify <file> [--root <file>] ... [--format <format>]
              [--config <file>]
            """,
        discussion: """
            Verifies as the gateway does in mode local, and opens no socket. The file has what an app sends: a receipt in \
            base64 or as its bytes, a transaction receipt of iOS 6, or one JWS of StoreKit 2. Prints the verdict, the \
            subscriptions and the transactions; with --format json the answer to POST /v1/verify:

              receipt-gateway verify receipt.b64
              receipt-gateway verify --root StoreKit.pem=Xcode receipt.b64
              receipt-gateway verify --format json - < transaction.jws

            Trusted are Apple's roots, the roots of gateway.trust_roots, and the roots of --root. The command reads no secret \
            and no clients file.

            Exit status: 0 if the evidence is genuine, 1 if it is rejected, 2 if the file has no evidence or cannot be \
            read, 64 if the command line is wrong, 78 if the configuration or a root is wrong.
            """)

    @Argument(help: "The file; - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("A root in PEM to trust as well, in the form of gateway.trust_roots.", valueName: "file"),
        completion: .file(), transform: TrustRoot.argument)
    var root: [TrustRoot] = []

    @Option(help: "The output format: text, or one JSON object.")
    var format = OutputFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let verification = try orExit { () throws(ConfigurationProblems) in
            try checkOpenSSL()
            return try LocalVerificationRun(try options.source.localVerification(), adding: root)
        }
        let result: LocalVerificationResult
        do throws(UnreadableEvidence) {
            result = try await verification.result(of: EvidenceFile.read(file), at: .now())
        } catch {
            StandardError.write("\(file == "-" ? "Standard input" : file.printable()): \(error.fault)\n")
            throw ExitCode.unreadable
        }
        print(format == .json ? result.json : result.text)
        if result.answer.verdict != .genuine { throw ExitCode.failure }
    }
}

extension ExitCode {
    /// The status without evidence to verify.
    fileprivate static let unreadable = ExitCode(2)
}

extension TrustRoot {
    @Sendable fileprivate static func argument(_ text: String) throws -> TrustRoot {
        do throws(ConfigurationValueFault) {
            return try TrustRoot(configuration: text)
        } catch {
            throw ValidationError("\(error.description); accepted: \(accepted)")
        }
    }
}

/// The reason why there is nothing to verify, as the rest of a sentence about the file.
struct UnreadableEvidence: Error, Hashable, Sendable {
    let fault: String
}

/// Evidence in a file, in any form in which it is passed around.
enum EvidenceFile {
    enum Limits {
        /// The bytes of the largest request body by default.
        static let bytes = HTTPConfiguration().limits.body.bytes
    }

    /// - Parameter path: `-` for standard input.
    static func read(_ path: String) throws(UnreadableEvidence) -> [UInt8] {
        guard let bytes = CLibrary.bytes(ofFile: path == "-" ? nil : path, maximum: Limits.bytes + 1) else {
            throw UnreadableEvidence(fault: path == "-" ? "cannot be read" : CLibrary.readingFault(ofFile: path))
        }
        guard bytes.count <= Limits.bytes else {
            throw UnreadableEvidence(fault: "is larger than \(Limits.bytes) bytes")
        }
        return bytes
    }

    /// The members of request bodies, the gateway's and Apple's, that have evidence.
    private static let evidenceMembers = ["receipt", "signed_transactions", "app_transaction", "receipt-data"]

    /// Returns the text that a client would send: base64 of what is still bytes, and any text unchanged.
    static func text(of bytes: [UInt8]) throws(UnreadableEvidence) -> String {
        let trimmed = bytes.withoutOuterWhiteSpace
        guard let first = trimmed.first else { throw UnreadableEvidence(fault: "is empty") }
        let json = first == UInt8(ascii: "{") ? try? JSONValue(parsing: bytes) : nil
        let isPropertyList = first == UInt8(ascii: "{") && json == nil
        if let name = evidenceMembers.first(where: { json?[$0] != nil }) {
            throw UnreadableEvidence(
                fault: "is the body of a request; put the value of \"\(name)\" alone into the file")
        }
        // 0x30 begins a receipt in DER. Its base64 begins with M.
        if bytes[0] == 0x30 || isPropertyList {
            return Base64.encode(isPropertyList ? Array(trimmed) : bytes)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UnreadableEvidence(fault: "is neither a text nor a receipt in DER")
        }
        return text
    }
}

/// Verifications without Apple, Redis and clients: each is the request that a client would send, in mode `local`.
struct LocalVerificationRun {
    private let service: VerificationService

    init(_ configuration: GatewayConfiguration, adding roots: [TrustRoot]) throws(ConfigurationProblems) {
        _ = try TrustStore(adding: roots, setting: "--root")
        let trustStore = try TrustStore(
            adding: configuration.trustRoots + roots, intermediatesFile: configuration.intermediatesFile)
        service = VerificationService(
            verifier: CurrentVerifier(ReceiptVerifier(trustStore: trustStore, policy: configuration.verification)),
            lateRenewal: configuration.events.rules.expiryDelay)
    }

    func result(of bytes: [UInt8], at now: Timestamp) async throws(UnreadableEvidence) -> LocalVerificationResult {
        let text = try EvidenceFile.text(of: bytes), endpoint = VerdictEndpoint()
        let body = JSONWriter.object(reservingCapacity: text.utf8.count + 64) { json in
            json.member("receipt", text)
            json.member("mode", Mode.local.rawValue)
        }
        do {
            guard case .request(let request) = try endpoint.read(ByteBuffer(bytes: body)) else {
                throw UnreadableEvidence(fault: "is no evidence")
            }
            let answer = try await service.answer(request, at: now).value()
            let reply = endpoint.replies(to: request.options, with: answer, at: now).first
            return LocalVerificationResult(answer: answer, json: String(decoding: reply.body.bytes, as: UTF8.self))
        } catch {
            throw UnreadableEvidence(error)
        }
    }
}

extension UnreadableEvidence {
    /// - Parameter error: an error of the gateway about the request; its text names the field, which the file is.
    fileprivate init(_ error: any Error) {
        let detail = (error as? any ProblemError)?.problem.detail ?? "\(error)"
        self = (error as? UnreadableEvidence) ?? UnreadableEvidence(fault: detail.replacing("\"receipt\" ", with: ""))
    }
}

/// The answer about a file, in the forms that the command prints.
struct LocalVerificationResult: Sendable {
    let answer: Answer
    /// The answer to `POST /v1/verify`.
    let json: String

    var text: String {
        ([heading] + [subscriptions, transactions].filter { !$0.rows.isEmpty }.map(\.text)).joined(separator: "\n\n")
    }

    private var heading: String {
        guard case .rejected(let rejection) = answer.verdict else {
            let app = answer.subject?.bundleID ?? "-", environment = answer.environment?.rawValue ?? "-"
            return "\(answer.verdict.name): \(app.printable()), \(environment)"
        }
        return "\(answer.verdict.name): \(rejection.name)\n\(rejection.explanation)"
    }

    private var subscriptions: TextTable {
        TextTable(
            header: ["SUBSCRIPTION", "PRODUCT", "STATE", "ACCESS UNTIL"],
            rows: answer.subscriptions.map { subscription in
                cells([
                    subscription.originalTransactionID, subscription.transaction.productID,
                    subscription.state.rawValue, subscription.accessUntil?.description,
                ])
            })
    }

    private var transactions: TextTable {
        TextTable(
            header: ["TRANSACTION", "PRODUCT", "PURCHASED", "EXPIRES", "CANCELLED"],
            rows: answer.transactions.map { transaction in
                cells([
                    transaction.transactionID, transaction.productID, transaction.purchaseDate?.description,
                    transaction.expiresDate?.description, transaction.cancellationDate?.description,
                ])
            })
    }

    private func cells(_ texts: [String?]) -> [String] { texts.map { $0.map { $0.printable() } ?? "-" } }
}
