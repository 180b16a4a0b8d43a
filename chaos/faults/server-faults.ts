import { setTimeout as wait } from 'node:timers/promises'
import type { Link } from '../servers/link.ts'
import { acceptServer } from './operators.ts'
import { between, type Fault, type Stage } from './stage.ts'

const linkFaults = (name: string, linkOf: (stage: Stage) => Link): Record<string, Fault> => ({
  [`cut ${name} link`]: async (stage, draw) => {
    const ms = draw < 0.5 ? 0 : between(draw, 500, 3_000)
    await (ms === 0 ? linkOf(stage).cut() : linkOf(stage).refuse(ms))
    return { ms }
  },
  [`slow ${name} link`]: async (stage, draw) => {
    const ms = between(draw, 1_000, 4_000)
    await linkOf(stage).slow(ms)
    return { ms }
  },
  [`half-open ${name} link`]: async (stage, draw) => {
    const ms = between(draw, 1_000, 7_000)
    const thenCut = draw > 0.3
    await linkOf(stage).halfOpen(ms, thenCut)
    return { ms, thenCut }
  },
})

export const serverFaults: Readonly<Record<string, Fault>> = {
  ...linkFaults('database', ({ database }) => database.link),
  ...linkFaults('broker', ({ broker }) => broker.link!),
  'lose database replies': async ({ database }, draw) => {
    const ms = between(draw, 20, 400)
    await database.link.loseReplies(ms)
    return { ms }
  },
  'kill database': async ({ database }) => {
    await database.kill()
    return undefined
  },
  'freeze database': async ({ database }, draw) => {
    const ms = between(draw, 1_000, 5_000)
    await database.freeze(ms)
    return { ms }
  },
  'kill pooler': async ({ database }) => {
    await database.pooler!.kill()
    return undefined
  },
  'cut standby': async ({ database }, draw) => {
    const ms = between(draw, 1_000, 4_000)
    await database.primary.standby!.cut(ms)
    return { ms }
  },
  'promote standby': async stage => {
    if (!stage.database.primary.standby!.isPromoted()) await stage.database.promote()
    return { accepted: await acceptServer(stage) }
  },
  'full disk': async ({ database }, draw) => {
    const ms = between(draw, 2_000, 5_000)
    database.primary.disk!.fill()
    await wait(ms)
    database.primary.disk!.empty()
    return { ms }
  },
  'kill broker': async ({ broker }) => {
    await broker.kill()
    return undefined
  },
  'freeze broker': async ({ broker }, draw) => {
    const ms = between(draw, 1_000, 5_000)
    await broker.freeze(ms)
    return { ms }
  },
}
