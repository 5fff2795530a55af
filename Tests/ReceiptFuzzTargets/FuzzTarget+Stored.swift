// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import Gateway
    internal import Receipts
    @testable internal import RedisStore

    extension FuzzTarget {
        /// Checks values of the shared store, to which others may write. The first byte chooses the kind of value.
        static func checkStored(_ input: [UInt8]) throws {
            let bytes = Array(input.dropFirst())
            switch (input.first ?? 0) % 4 {
            case 0: try checkForgedSeal(bytes)
            case 1: try checkChangedSeal(bytes)
            case 2: try checkResult(bytes)
            default: try checkUpdate(bytes)
            }
        }

        /// Checks that bytes which no node sealed never open.
        private static func checkForgedSeal(_ bytes: [UInt8]) throws {
            try expect((try? Sealing.seal.open(bytes, for: Sealing.name)) == nil, "a forged value opens")
        }

        /// Checks that a sealed value opens only unchanged and under its name.
        private static func checkChangedSeal(_ bytes: [UInt8]) throws {
            let sealed = Sealing.seal.seal(Sealing.value, for: Sealing.name)
            try expect((try? Sealing.seal.open(sealed, for: Sealing.name)) == Sealing.value, "a sealed value is lost")
            let name = String(decoding: bytes, as: UTF8.self)
            if name != Sealing.name {
                try expect((try? Sealing.seal.open(sealed, for: name)) == nil, "a value opens under another name")
            }
            var changed = sealed
            for change in Change.list(in: bytes) { change.apply(to: &changed) }
            if changed != sealed {
                try expect((try? Sealing.seal.open(changed, for: Sealing.name)) == nil, "a changed value opens")
            }
        }

        /// Checks that a stored result stays within the policy's times, and is written as it was read.
        private static func checkResult(_ bytes: [UInt8]) throws {
            let policy = FreshnessPolicy()
            guard let stored = try? StoredResult(bytes, policy: policy) else { return }
            let known = stored.known, freshness = known.fetchedAt.duration(to: known.freshUntil)
            let longest = (policy.longestFreshness(of: known.result), policy.longestRetention(of: known.result))
            try expect(freshness >= .zero && freshness <= longest.0, "fresh for \(freshness)")
            try expect(
                stored.retention > .zero && stored.retention <= longest.1, "kept for \(stored.retention)")
            try expect(known.took >= .zero && known.took <= StoredResult.Limits.took, "took \(known.took)")
            // At the limits of the representable range a date or a span is another than it was written.
            let end = known.fetchedAt.advanced(by: longest.1)
            guard known.fetchedAt > .earliest, known.fetchedAt.duration(to: end) == longest.1 else { return }
            try expect(stored.bytes == bytes, "a stored result that is written differently than read")
        }

        /// Checks that the links of an update may be published, and that it is written as it was read.
        private static func checkUpdate(_ bytes: [UInt8]) throws {
            guard let note = LifecycleUpdate(json: bytes) else { return }
            try expect(LifecycleUpdate(json: note.json) == note, "an update that is written differently than read")
            for date in [note.dates.deprecation, note.dates.sunset].compactMap(\.self) {
                try expect(LifecycleUpdate.Limits.milliseconds.contains(date.millisecondsSince1970), "noted: \(date)")
            }
            for link in note.links { try checkPublishable(link.target) }
        }

        /// Checks that a target may appear between `<` and `>` in a header field.
        static func checkPublishable(_ target: String) throws {
            let isVisible = target.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"<>\"".utf8.contains($0) }
            try expect(isVisible && target.utf8.count <= 2048, "a link that may not be published")
            try expect(target.lowercased().hasPrefix("http"), "a link that is not absolute")
        }
    }

    private enum Sealing {
        static let name = "rc:f:name"
        static let value = Array("what Apple said".utf8)

        static let seal = StoreSeal(keys: .ofFuzzer)
    }

    extension StoreKeys {
        static let ofFuzzer: StoreKeys = {
            let key = "2026a:" + String(repeating: "QUFB", count: 10) + "QUE="
            guard let keys = try? StoreKeys(key) else { preconditionFailure("the key of the fuzzer is none") }
            return keys
        }()
    }
#endif
