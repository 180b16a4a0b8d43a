import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { realEnvironment, runConsumer } from 'onceward'
import pg from 'pg'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { EventLog } from '../event-log.ts'
import { planMessages } from '../plan/messages.ts'
import { prepareBusiness } from '../prepare-business.ts'
import { chaosConsumer } from '../processes/contract.ts'
import type { ChaosSettings } from '../processes/settings.ts'
import { openSender } from '../sending/sender.ts'
import { noBroker } from '../servers/broker.ts'
import { databaseBroker } from '../servers/database-broker.ts'
import type { Stage } from './stage.ts'
import { migrate } from './upgrade.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('migrate as a fault', await skipWithout('postgres'), () => {
  test('moves the markers and raises the schema under a consumer, which goes on and starts again', async t => {
    const { url, drop } = await createDatabase()
    t.after(drop)
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    t.after(() => pool.end())
    const addresses = { databaseUrl: url, ...noBroker }
    const settings = {
      cell: { source: 'postgres', database: 'direct' },
      ...{ seed: 0, mode: 'inline', messages: 0, produceMs: 0, gatewayPort: 1 },
      ...{ source: 'chaos.requests', output: 'chaos.applied', deadLetters: 'chaos.dead' },
      ...{ inside: addresses, outside: addresses, sendLog: '', gatewayBook: '' },
    } satisfies ChaosSettings
    await prepareBusiness(settings, null)
    await databaseBroker(url).prepare(settings)
    const sender = await openSender(settings)
    t.after(() => sender.close())
    const messages = planMessages(300, 1, 'postgres').filter(({ kind }) => kind === 'first')
    const start = () =>
      runConsumer(chaosConsumer(settings, 'consumer-1'), {
        databaseUrl: url,
        parts: ['consumer'],
        env: realEnvironment({ log: silent }),
      })
    const apply = async (n: number) => {
      await sender.send([messages[n]!])
      const count = async () => (await pool.query('select count(*)::int from application')).rows[0].count
      await until(`${n + 1} messages are applied`, async () => (await count()) === n + 1)
    }
    const log = new EventLog(join('/dev', 'null'))
    const stage = { settings, log, signal: AbortSignal.timeout(60_000) } as unknown as Stage
    const running = await start()
    await apply(0)
    const first = (await migrate(stage, 0)) as { version: number; moved: number }
    assert.ok(first.moved > 0)
    await apply(1)
    const { version } = (await migrate(stage, 0)) as { version: number }
    assert.equal(version, first.version + 1)
    await apply(2)
    await running.drain(10_000)
    const again = await start()
    t.after(() => again.drain(10_000))
    await apply(3)
    const { rows } = await pool.query('select max(version) as version from onceward.migration')
    assert.deepEqual(rows, [{ version }])
  })
})
