// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Words for the random names of apps and products.
enum Vocabulary {
    static let vendors = ["example", "acme", "northwind", "lumen", "birchwood", "kestrel", "papertrail", "halcyon"]
    static let apps = ["notes", "weather", "runner", "chess", "recipes", "budget", "sketch", "podcasts", "atlas"]
    static let editions = ["", ".pro", ".hd", ".lite", ".go"]
    static let tiers = ["premium", "plus", "pro", "unlimited", "family"]
    static let singleItems = ["lifetime", "coins.500", "gems.1200", "theme.dark", "export.pdf", "seasonpass"]
    static let promotionalOffers = ["winback.half", "spring.offer", "loyal.three.months"]
}
