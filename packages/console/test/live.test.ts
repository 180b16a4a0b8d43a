import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { startTcpProxy, type TcpProxy } from '../../onceward/test/proxy/tcp-proxy.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

/** One page: how many events of the overview it has had, and whether its stream has ended. */
class Watcher {
  events = 0
  away = 0
  /** Answers of the screens that it watches, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: shaped by the route
  readonly screens: any[] = []
  #rest = ''
  ended = false
  readonly #stopped = new AbortController()

  constructor(served: ServedConsole, cookie: string, screens: readonly string[] = []) {
    const query = new URLSearchParams(screens.map((screen): [string, string] => ['screen', screen]))
    void this.#read(`${served.url}/api/live?${query}`, cookie).catch(() => {})
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #read(url: string, cookie: string): Promise<void> {
    const answer = await fetch(url, { headers: { cookie }, signal: this.#stopped.signal })
    for await (const bytes of answer.body!) {
      const text = Buffer.from(bytes).toString()
      const events = (this.#rest + text).split('\n\n')
      this.#rest = events.pop()!
      for (const event of events) this.#take(event)
    }
    this.ended = true
  }

  #take(event: string): void {
    const [, kind, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
    if (kind === 'overview') this.events++
    if (kind === 'away') this.away++
    if (kind === 'screen') this.screens.push(JSON.parse(data!))
  }
}

/**
 * Statements in a piece of the frontend protocol: `Q` is a simple one, `P` one with values. A piece that does
 * not begin with a message, such as the start of a connection, has none.
 */
function statementsIn(bytes: Buffer): number {
  let found = 0
  for (let at = 0; at + 5 <= bytes.length; at += 1 + bytes.readUInt32BE(at + 1)) {
    const kind = String.fromCharCode(bytes[at]!)
    if (!/[A-Za-z]/.test(kind)) break
    if (kind === 'Q' || kind === 'P') found++
  }
  return found
}

describe('live figures', await skipWithout('postgres'), () => {
  let incident: Incident
  let proxy: TcpProxy
  let served: ServedConsole
  let ann: Client
  const sent = { reads: 0, rates: 0, keys: 0, bytes: 0, statements: 0 }

  before(async () => {
    incident = await openIncident()
    const { hostname, port } = new URL(incident.consoleUrl)
    proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    proxy.toServer(bytes => {
      const text = bytes.toString('latin1')
      sent.reads += text.split('select max(version) from onceward.migration) as version,').length - 1
      sent.rates += text.split('generate_series(0, 59)').length - 1
      sent.keys += text.split('from onceward.blocked_key b join').length - 1
      sent.bytes += bytes.length
      sent.statements += statementsIn(bytes)
      return bytes
    })
    served = await incident.serve({ auth: { kind: 'link' }, database: proxy.through(incident.consoleUrl) })
    ann = await Client.signIn(served.linkFor('ann'))
  })
  after(async () => {
    await incident?.close()
    await proxy?.close()
  })

  /** What `count` watchers cost until each has had so many events. */
  const costOf = async (count: number, events: number, screens: readonly string[] = []) => {
    const watchers = Array.from({ length: count }, () => new Watcher(served, ann.cookie, screens))
    await until('all watch', async () => watchers.every(one => one.events > 0))
    const [before, beganMs] = [{ ...sent }, performance.now()]
    const first = watchers.map(one => one.events)
    await until('all have events', async () =>
      watchers.every((one, index) => one.events - first[index]! >= events),
    )
    const seconds = (performance.now() - beganMs) / 1_000
    for (const one of watchers) one.stop()
    return {
      reads: sent.reads - before.reads,
      rates: sent.rates - before.rates,
      keys: sent.keys - before.keys,
      bytes: sent.bytes - before.bytes,
      statements: sent.statements - before.statements,
      seconds,
    }
  }

  it('cost the database one read a second, for one watcher and for fifty', async t => {
    const alone = await costOf(1, 3)
    const many = await costOf(50, 3)
    t.diagnostic(`1 watcher: ${JSON.stringify(alone)}; 50 watchers: ${JSON.stringify(many)}`)
    for (const cost of [alone, many]) {
      assert.ok(cost.reads <= cost.seconds + 1, `${cost.reads} reads in ${cost.seconds} s`)
      assert.ok(cost.rates <= cost.seconds / 5 + 1, `${cost.rates} reads of rates in ${cost.seconds} s`)
    }
    const perRead = (cost: typeof alone) => cost.bytes / cost.reads
    assert.ok(perRead(many) < perRead(alone) * 1.6, 'each watcher sends statements of its own')
  })

  it('cost the page of a consumer one read a second too, for one watcher and for fifty', async t => {
    const screens = ['consumers/invoice_booking', 'rates?consumer=invoice_booking']
    const alone = await costOf(1, 3, screens)
    const many = await costOf(50, 3, screens)
    t.diagnostic(`1 watcher: ${JSON.stringify(alone)}; 50 watchers: ${JSON.stringify(many)}`)
    for (const cost of [alone, many]) {
      assert.ok(cost.keys > 0)
      assert.ok(cost.keys <= cost.seconds + 1, `${cost.keys} reads of blocked keys in ${cost.seconds} s`)
    }
  })

  it('send as many statements for twenty watchers as for one', async t => {
    const consumer = ['consumers/invoice_booking', 'rates?consumer=invoice_booking']
    for (const [what, screens, most] of [
      ['the overview', [], 30],
      ['a consumer', consumer, 40],
      ['decisions and redrives', ['decisions', 'redrives'], 40],
    ] as const) {
      const perTick = async (count: number) => {
        const { statements, reads } = await costOf(count, 4, screens)
        return statements / reads
      }
      const [alone, many] = [await perTick(1), await perTick(20)]
      t.diagnostic(`${what}: ${alone.toFixed(1)} statements a tick for 1, ${many.toFixed(1)} for 20`)
      assert.ok(alone > 5 && alone <= most, `${what}: ${alone} statements a tick`)
      assert.ok(many <= alone * 1.3 + 1, `${what}: ${many} statements a tick for 20, ${alone} for 1`)
    }
  })

  it('have the answer of a screen when it changes, and not when it does not', async () => {
    const watcher = new Watcher(served, ann.cookie, ['redrives', 'decisions', 'consumers/nothing'])
    const of = (path: string) => watcher.screens.filter(one => one.path === path)
    await until('each has answered', async () => watcher.screens.length >= 3)
    assert.match(of('consumers/nothing')[0].problem, /Consumer nothing was not found/)
    const { id } = (
      await ann.post('selections', { consumer: 'invoice_booking', q: 'code:wrong_currency message:east-1' })
    ).body
    await ann.post(`selections/${id}/redrive`, { because: 'to see it', ramp: false })
    await until('the redrive is shown', async () => of('redrives').at(-1).answer.redrives.length === 1)
    assert.equal(of('decisions').length, 1)
    watcher.stop()
  })

  it('are refused for what is not a screen', async () => {
    for (const path of ['messages', 'audit', 'consumers/a/b', '..'])
      assert.equal((await ann.get(`live?screen=${path}`)).status, 404, path)
  })

  it('say that the database is away, and continue when it is back', async () => {
    const watcher = new Watcher(served, ann.cookie)
    await until('it watches', async () => watcher.events > 0)
    proxy.refuse()
    proxy.cut()
    await until('it says so', async () => watcher.away > 0)
    const before = watcher.events
    proxy.accept()
    await until('it continues', async () => watcher.events > before)
    watcher.stop()
  })

  it('end with the session, and do not keep it open', async () => {
    const client = await Client.signIn(served.linkFor('ann'))
    const watcher = new Watcher(served, client.cookie)
    await until('it watches', async () => watcher.events > 0)
    await client.post('sign-out')
    await until('its stream ends', async () => watcher.ended)
  })
})
