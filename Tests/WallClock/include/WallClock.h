// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// Nothing is called by name: the library stands before the system's own, by LD_PRELOAD.
