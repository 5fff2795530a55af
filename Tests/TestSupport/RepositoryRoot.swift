// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The folder of this repository, on the machine that compiled the tests.
public let repositoryRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
