// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

extension Bench {
    /// Measures the processor time of a request of a client without limits to each protocol, about the same receipt:
    /// from the near cache, and verified each time.
    func measureForm() async throws {
        let client = try await BenchFormClient(gatewayPath, peers.folder)
        let receipt = ForgedEvidence.der(pki.sign(Self.contents(purchases: factory.purchases))).base64
        for (name, settings) in [("near-cache hit", [:]), ("verification", ["GATEWAY_CACHE_NEAR_SIZE": "0"])] {
            try await withGateway(client.settings + settings) { gateway, _ in
                let loads = client.requests(receipt, to: gateway.port).map { path, request in
                    ("POST \(path): \(name)", BenchLoad(server: gateway, source: .inTurn([request])))
                }
                try await compare(loads, by: \.microsecondsPerRequest, "µs")
            }
        }
    }

    private static func contents(purchases: Int) -> ReceiptContents {
        let start = UTCDate.now.advanced(byDays: -400)
        var contents = ReceiptContents(bundleID: BenchFormClient.bundleID, creationDate: start.advanced(byDays: 399))
        contents.purchases = (0..<purchases).map { number in
            PurchaseContents(
                productID: "\(contents.bundleID).item\(number)", transactionID: "\(1_000_000 + number)",
                purchaseDate: start)
        }
        return contents
    }
}

private struct BenchFormClient {
    static let bundleID = "com.example.bench"
    private static let formKey = "act_bench"
    let settings: [String: String]
    private let key: String?

    init(_ gatewayPath: String, _ folder: ScratchFolder) async throws {
        let imported = try await FinishedProgram.run(
            "sh", ["-c", "echo \(Self.formKey) | '\(gatewayPath)' hash-key --import"], environment: FleetClients.pepper)
        guard imported.status == 0 else { throw FleetError.noKey(said: imported.errors) }
        let keyFile = try folder.write(String(repeating: "0f", count: 32), to: "encryption-key")
        let form = """
                form:
                  limits: []
                  keys:
            \(imported.output)
                  apps: [{token: app, bundle_id: \(Self.bundleID), encryption_key_file: \(keyFile)}]

            """
        let clients = try await FleetClients(
            [("bench", form)], gatewayPath: gatewayPath, file: folder.path("form-clients.yaml"))
        (settings, key) = (clients.settings, clients.keys["bench"])
    }

    func requests(_ receipt: String, to port: Int) -> [(path: String, request: ByteBuffer)] {
        let json = Array(#"{"receipt":"\#(receipt)"}"#.utf8)
        let form = Array("apikey=\(Self.formKey)&token=app&receipt=\(receipt)".utf8)
        let type = HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded")
        let requests = [
            ("/v1/verify", json, HeaderField(name: "X-API-Key", value: key ?? "")), ("/api", form, type),
            ("/apiencrypted", form, type),
        ]
        return requests.map { path, body, field in
            let target = LoadTarget.loopback(port, path)
            return (path, RequestForm.request("POST", target, [field], body: body))
        }
    }
}
