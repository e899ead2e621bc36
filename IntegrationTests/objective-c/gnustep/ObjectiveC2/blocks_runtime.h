// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// What Foundation on Linux includes when blocks are on; the Debian packages lack it.
#include <Block.h>
