import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { audit, contribution, jsonRoundedCodec, projection, transition } from 'onceward'
import { z } from 'zod'
import type { IdentitySection } from '../../src/contract/contract.ts'
import { skipWithout } from '../services/services.ts'
import { contractOf, type Deed, type Entry, machine, type Step } from './declared-contracts.ts'
import { DeclaredRig, type Passage } from './declared-rig.ts'

type Numbered = { readonly id: string; readonly n: number }

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
const message = { id: 'm', n: rawJSON('9007199254740993') }
const n = (m: unknown) => (m as Numbered).n
const some = () => 'x'

const booked = (changes: object) =>
  contribution<Entry>({
    facts: 'entry',
    summary: 'balance',
    window: 'none',
    key: some,
    eventId: some,
    values: { amount: () => 1 },
    ...changes,
  })
const moved = (changes: object) =>
  transition<Step>({
    machine,
    aggregate: { table: 'workflow', key: 'case_id', state: 'state', version: 'version' },
    facts: 'workflow_fact',
    aggregateId: some,
    transitionId: some,
    event: () => 'Opened',
    version: () => 1,
    actor: some,
    reason: some,
    ...changes,
  })
const shown = (changes: object) =>
  projection<Numbered>({
    table: 'numbered',
    key: { key: some },
    version: { version: () => 1 },
    columns: { said: some },
    gap: 'skips allowed',
    ...changes,
  })
const recorded = (eventId: (m: unknown) => unknown) =>
  audit<Deed>({ table: 'deed', eventId, columns: { who: some } })

const effects: Readonly<Record<string, readonly [string, unknown]>> = {
  'the event of a contribution': ['eventId', booked({ eventId: n })],
  'the key of a contribution': ['key', booked({ key: n })],
  'what a contribution corrects': ['corrects', booked({ corrects: n })],
  'a transition': ['transitionId', moved({ transitionId: n })],
  'the aggregate of a transition': ['aggregateId', moved({ aggregateId: n })],
  'the version of a transition': ['version', moved({ version: n })],
  'the event of an audit row': ['eventId', recorded(n)],
  'the key of a projection': ['key column "key"', shown({ key: { key: n } })],
  'the version of a projection': ['the version', shown({ version: { version: n } })],
}
const identities: Readonly<Record<string, readonly [string, Partial<IdentitySection<unknown>>]>> = {
  'the id of a message': ['id', { id: n as never }],
  'a business key': ['business key', { businessKey: n as never }],
  'an order key': ['order key', { orderKey: n as never }],
}

describe(
  'a number of 2^53 or more that was rounded identifies nothing',
  await skipWithout('postgres'),
  () => {
    let rig: DeclaredRig
    before(async () => {
      rig = await DeclaredRig.open()
      await rig.pool.query('create table numbered (key text primary key, version bigint not null, said text)')
    })
    after(() => rig.close())

    const told = async (apply: unknown, contract: Passage['contract'] = {}, body: object = message) => {
      const { name } = await rig.pass(apply, [body], {
        contract: { message: { codec: jsonRoundedCodec }, ...contract },
      })
      const rows = await rig.rows(
        `select state || ': ' || reason as said from onceward.held
       where consumer_id = (select id from onceward.consumer where name = $1)`,
        [name],
      )
      return rows.map(row => String(row.said)).join()
    }

    for (const [what, [field, apply]] of Object.entries(effects))
      test(what, async () => {
        const said = await told(apply)
        assert.ok(said.startsWith(`quarantined: ${field}`), said)
        assert.match(said, /a whole number of 2\^53 or more.*send it as text/)
      })

    for (const [what, [field, identity]] of Object.entries(identities))
      test(what, async () => {
        const { identity: usual } = contractOf(null, { kind: 'memory' }, 'usual')
        const said = await told(recorded(some), {
          identity: { ...usual, ...identity },
          ...(field === 'order key' && { order: 'key' }),
        })
        assert.match(said, new RegExp(`^quarantined: ${field} is a whole number of 2\\^53 or more`))
      })

    test('an amount whose last digits were lost is still refused behind a schema', async () => {
      const body = { id: 'm', n: rawJSON('0.10000000000000000001') }
      const schema = z.object({ id: z.string(), n: z.number() })
      const said = await told(booked({ values: { amount: n } }), { message: { schema } as never }, body)
      assert.match(
        said,
        /values.amount .*0\.10000000000000000001 has more digits than a JavaScript number keeps/,
      )
    })
  },
)
