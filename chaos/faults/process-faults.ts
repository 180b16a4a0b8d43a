import { type Role, roles } from '../processes/fleet.ts'
import { between, type Fault } from './stage.ts'

/** Shorter than the leases of 2 and 3 s, and longer. */
const freezeMs = [800, 4_500] as const
const day = 86_400

const oneOf = <T>(values: readonly T[], draw: number): T =>
  values[Math.min(values.length - 1, Math.floor(draw * values.length))]!

const kill =
  (role: string): Fault =>
  async ({ fleet }, draw) => {
    const instance = oneOf(fleet.instancesOf(role), draw)
    await fleet.kill(instance)
    return { instance }
  }

const freeze =
  (role: Role): Fault =>
  async ({ fleet }, draw) => {
    const instance = oneOf(fleet.instancesOf(role), draw)
    const ms = between(draw, ...freezeMs)
    await fleet.freeze(instance, ms)
    return { instance, ms }
  }

const jumps = [-3 * day, -3_600, -40, 40, 3_600, 30 * day]

export const processFaults: Readonly<Record<string, Fault>> = {
  ...Object.fromEntries(roles.map(role => [`kill ${role}`, kill(role)])),
  ...Object.fromEntries(roles.map(role => [`freeze ${role}`, freeze(role)])),
  'kill gateway': kill('gateway'),
  'clock jump': async ({ fleet }, draw) => {
    const seconds = oneOf(jumps, draw)
    fleet.jump(seconds)
    return { seconds }
  },
}
