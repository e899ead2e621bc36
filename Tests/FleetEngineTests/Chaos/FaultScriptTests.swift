// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import FleetEngine
@testable import FleetTokens

@Suite struct FaultScriptTests {
    private func problem(_ json: String) -> String? {
        do throws(FaultScriptError) {
            _ = try FaultScript(parsing: Array(json.utf8))
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `a script with every word is read, and written as it was`() throws {
        let text = """
            {"seed":7,"steps":[
              {"slow":"2s","vehicle":"veh-3","methods":["GetVehicle","UpdateVehicle"],"share":0.25},
              {"status":"UNAVAILABLE","calls":2,"after":"10s","for":"1m"},
              {"refuse":"TOKEN_EXPIRED","trip":"trip-1"},
              {"clockOff":"-10m","task":"task-1"},
              {"keyExpired":"driver","deliveryVehicle":"dv-1"},
              {"keyRotated":"all","tracking":"t-1"},
              {"slow":"500ms","target":"tokens"}
            ]}
            """
        let script = try FaultScript(parsing: Array(text.utf8))
        #expect(script.seed == 7)
        #expect(
            script.steps.map(\.fault) == [
                .slow(.seconds(2)), .status(.unavailable), .refuse(.tokenExpired), .clockOff(.seconds(-600)),
                .keyExpired(.driver), .keyRotated(nil), .slow(.milliseconds(500)),
            ])
        #expect(script.steps[0].subject == .init(kind: .vehicle, id: "veh-3"))
        #expect(script.steps[0].methods == [.getVehicle, .updateVehicle])
        #expect(script.steps[1].lasting == .seconds(60))
        #expect(script.steps[6].target == .tokens)
        #expect(try FaultScript(parsing: script.json.serialized) == script)
        // And as what plays is shown.
        #expect(try JSONDecoder().decode([FaultStep].self, from: JSONEncoder().encode(script.steps)) == script.steps)
    }

    @Test(arguments: [
        ("[]", "not an object"), ("{", "not JSON"), (#"{"steps":[]}"#, "1 to 100"),
        (#"{"steps":[{"slow":"2s"}],"sed":1}"#, "sed"), (#"{"steps":[{"slow":"2s"}],"seed":-1}"#, "seed"),
        (#"{"steps":[{}]}"#, "0 faults"), (#"{"steps":[{"slow":"2s","status":"INTERNAL"}]}"#, "2 faults"),
        (#"{"steps":[{"slow":"2 s"}]}"#, "slow is no time"), (#"{"steps":[{"slow":"-2s"}]}"#, "slow is no time"),
        (#"{"steps":[{"slow":"301s"}]}"#, "5 minutes"), (#"{"steps":[{"slow":"99999999999999999999s"}]}"#, "no time"),
        (#"{"steps":[{"status":"OK"}]}"#, "UNAVAILABLE"), (#"{"steps":[{"refuse":"NO"}]}"#, "TOKEN_EXPIRED"),
        (#"{"steps":[{"keyExpired":"boss"}]}"#, "fleet_reader"), (#"{"steps":[{"clockOff":"86401s"}]}"#, "clockOff"),
        (#"{"steps":[{"slow":"1s","share":0}]}"#, "share"), (#"{"steps":[{"slow":"1s","share":1.5}]}"#, "share"),
        (#"{"steps":[{"slow":"1s","calls":0}]}"#, "calls"), (#"{"steps":[{"slow":"1s","methods":["Fly"]}]}"#, "Fly"),
        (#"{"steps":[{"slow":"1s","vehicle":"v","trip":"t"}]}"#, "vehicle and trip"),
        (#"{"steps":[{"slow":"1s","on":"x"}]}"#, "there is no on"),
        (#"{"steps":[{"slow":"1s","vehicle":"a/b"}]}"#, "vehicle: The vehicle id holds"),
        (#"{"steps":[{"slow":"1s","tracking":""}]}"#, "tracking: The tracking id is empty"),
        (#"{"steps":[{"slow":"1s","trip":"*"}]}"#, "trip: The trip id is the wildcard"),
        (#"{"steps":[{"slow":"1s","vehicle":7}]}"#, "vehicle is no id; write one, in quotes"),
        (#"{"steps":[{"slow":"1s","task":"x","target":"tokens"}]}"#, "by its task"),
        (#"{"steps":[{"slow":"1s"},{"clockOff":"1s","target":"tokens"}]}"#, "steps[1]: the token server"),
    ])
    func `a script that is wrong is told where and why`(json: String, expected: String) {
        #expect(self.problem(json)?.contains(expected) == true, "\(self.problem(json) ?? "no problem")")
    }

    @Test(arguments: [
        #"{"slow":"300s"}"#, #"{"clockOff":"86400s"}"#, #"{"clockOff":"-86400s"}"#,
        #"{"slow":"0s","share":1,"calls":1000000}"#,
    ])
    func `a step may go up to its limits`(step: String) {
        #expect(self.problem("{\"steps\":[\(step)]}") == nil)
    }

    @Test func `a script has a hundred steps at most`() {
        func script(_ count: Int) -> String {
            let steps = Array(repeating: #"{"slow":"1s"}"#, count: count).joined(separator: ",")
            return "{\"steps\":[\(steps)]}"
        }
        #expect(self.problem(script(100)) == nil)
        #expect(self.problem(script(101))?.contains("1 to 100") == true)
    }

    private func strikes(_ step: FaultStep, seed: UInt64 = 0, calls: Int, every interval: Duration = .zero) -> [Bool] {
        var play = FaultPlay(FaultScript(seed: seed, steps: [step]), at: .zero, date: TestClock.start)
        return (0..<calls).map { number in
            !play.strike(.init(target: .engine, method: .getVehicle), at: interval * number).marks.isEmpty
        }
    }

    @Test func `a step strikes so many calls, then no more`() {
        var step = FaultStep(.status(.unavailable))
        step.calls = 2
        #expect(self.strikes(step, calls: 4) == [true, true, false, false])
    }

    @Test func `a step begins and ends in its time`() {
        var step = FaultStep(.status(.unavailable))
        step.after = .seconds(2)
        step.lasting = .seconds(2)
        #expect(self.strikes(step, calls: 6, every: .seconds(1)) == [false, false, true, true, false, false])
    }

    @Test func `a share of calls follows from the seed alone`() {
        var step = FaultStep(.status(.unavailable))
        step.share = 0.3
        let first = self.strikes(step, seed: 5, calls: 1000)
        #expect(first == self.strikes(step, seed: 5, calls: 1000))
        #expect(first != self.strikes(step, seed: 6, calls: 1000))
        #expect((250...350).contains(first.count { $0 }))
    }

    @Test func `a share of a role's tokens lose their key, whatever calls come between`() throws {
        var step = FaultStep(.keyExpired(.driver))
        step.share = 0.5
        let script = FaultScript(seed: 5, steps: [step])
        let call = FaultPlay.Call(target: .engine, method: .getVehicle)
        let driver = try TextVerifier().verify("driver|vehicleid=veh-1", at: TestClock.start)
        let server = try TextVerifier().verify(serverToken, at: TestClock.start)
        func losses(_ tokens: [ExaminedToken]) -> [Bool] {
            var play = FaultPlay(script, at: .zero, date: TestClock.start)
            return tokens.map { token in
                let effect = play.strike(call, at: .zero)
                #expect(!effect.isEmpty && effect.marks.isEmpty)
                return play.strikeKey(of: token, in: call, at: .zero) != nil
            }
        }
        let alone = losses(Array(repeating: driver, count: 100))
        #expect(Set(alone) == [true, false])
        let mixed = losses((0..<200).map { $0.isMultiple(of: 2) ? server : driver })
        let expected = alone.flatMap { [false, $0] }
        #expect(mixed == expected)
    }

    @Test func `slowness adds up, and the first answer ends the rest`() {
        let steps = [Fault.slow(.seconds(1)), .slow(.seconds(2)), .status(.internalError), .slow(.seconds(4))]
        var play = FaultPlay(FaultScript(steps: steps.map(FaultStep.init)), at: .zero, date: TestClock.start)
        let effect = play.strike(.init(target: .engine, method: .getTrip), at: .zero)
        #expect(effect.delay == .seconds(3))
        #expect(effect.status?.code == .internalError)
        #expect(play.strikes == [1, 1, 1, 0])
    }
}
