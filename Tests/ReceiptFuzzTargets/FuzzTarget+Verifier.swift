// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import ReceiptForge
    internal import Receipts

    /// Genuine receipts and a verifier that trusts them. An input is a list of changes to one: they are too long for
    /// mutation.
    private enum Genuine {
        static let receipts: [[UInt8]] = {
            let forge = FaultForge(pki: ForgedPKI(seed: 1))
            let odd = [
                "certificates-reversed", "root-omitted", "sha1-digest", "signature-algorithm-with-digest",
                "no-purchases",
            ]
            let named = odd.compactMap(ReceiptFault.init(named:)).compactMap { fault -> [UInt8]? in
                guard case .der(let bytes) = forge.evidence(with: fault) else { return nil }
                return bytes
            }
            return [forge.wellFormed, XcodePKI(seed: 1).signLikeXcode(forge.contents)] + named
        }()

        static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

        static let verifier: ReceiptVerifier = {
            var store = TrustStore.apple
            guard (try? store.add(pem: ForgedPKI(seed: 1).rootPEM, environments: [.sandbox])) != nil,
                (try? store.add(pem: XcodePKI(seed: 1).rootPEM, environments: [.xcode])) != nil
            else { preconditionFailure("the forge's roots are no trust anchors") }
            return ReceiptVerifier(trustStore: store)
        }()

        /// The signed contents. Nothing else may ever be genuine.
        static let contents: Set<Fingerprint> = Set(
            receipts.map { receipt in
                guard let verified = try? verifier.verify(receipt, at: now) else {
                    preconditionFailure("a receipt of the forge is not genuine")
                }
                return Fingerprint(of: verified.signedContent)
            })
    }

    extension FuzzTarget {
        /// Creates keys and receipts before the first input, because that takes time.
        public static func prepare() {
            _ = Genuine.contents
            _ = GenuineJWS.identities
            _ = ServerAPIForge.bodies
        }

        /// The first byte chooses a receipt; each four bytes after it change the receipt.
        static func checkVerifier(_ input: [UInt8]) throws {
            let contents = Genuine.contents
            guard let choice = input.first else { return }
            var receipt = Genuine.receipts[Int(choice) % Genuine.receipts.count]
            for change in Change.list(in: Array(input.dropFirst())) { change.apply(to: &receipt) }
            do {
                let verified = try Genuine.verifier.verify(receipt, at: Genuine.now)
                try expect(contents.contains(Fingerprint(of: verified.signedContent)), "genuine, but never signed")
                try expect(verified.environment != .production, "genuine in an environment that no root may sign for")
            } catch let error as ReceiptError {
                try error.checkLocation(in: receipt)
            }
        }
    }

    /// One change of some bytes: an operation, a position (two bytes), and a value.
    struct Change {
        let operation: UInt8
        let position: Int
        let value: UInt8

        /// Decodes changes of four bytes each.
        static func list(in bytes: [UInt8]) -> [Change] {
            stride(from: 0, to: bytes.count - 3, by: 4).prefix(64).map { Change(bytes[$0..<$0 + 4]) }
        }

        private init(_ bytes: ArraySlice<UInt8>) {
            let bytes = Array(bytes)
            operation = bytes[0]
            position = Int(bytes[1]) << 8 | Int(bytes[2])
            value = bytes[3]
        }

        func apply(to bytes: inout [UInt8]) {
            guard !bytes.isEmpty else { return }
            let position = position % bytes.count
            switch operation % 6 {
            case 0: bytes[position] = value
            case 1: bytes[position] ^= value
            case 2: bytes.insert(value, at: position)
            case 3: bytes.remove(at: position)
            case 4: bytes.removeLast(min(Int(value), bytes.count))
            default: bytes.append(contentsOf: bytes[position..<min(position + Int(value), bytes.count)])
            }
        }
    }
#endif
