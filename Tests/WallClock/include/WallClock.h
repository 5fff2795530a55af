// SPDX-License-Identifier: Apache-2.0

// Nothing is called by name: the library stands before the system's own, by LD_PRELOAD.
