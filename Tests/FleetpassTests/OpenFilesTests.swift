// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import fleetpass

@Suite struct OpenFilesTests {
    @Test(arguments: [
        (20_512, 2, 10_128), (20_512, 1, 20_256), (1024, 2, 384), (512, 2, 128), (256, 2, 64), (260, 1, 130),
        (8, 2, 2), (1, 2, 1), (0, 1, 1),
    ])
    func `a part of the files is kept, and the rest is for connections`(files: Int, ports: Int, connections: Int) {
        #expect(OpenFiles.connections(ofFiles: files, ports: ports) == connections)
    }
}
