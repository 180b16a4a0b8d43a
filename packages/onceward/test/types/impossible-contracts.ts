/** Each contract is refused by the compiler, in the words above it. Read by `contract-messages.test.ts`. */
import { defineConsumer, projection } from 'onceward'
import { postgresQueue } from 'onceward/postgres'

const base = { name: 'x', owner: 'team', risk: 'projection', source: postgresQueue('q') } as const
const id = (m: { key: string }) => m.key
const identity = { id }
const handle = () => {}
const handleBatch = async () => {}
const apply = projection({ into: 't', key: 'k', version: 'v', set: {} } as never)
const url = 'https://gateway.example'

// a contract needs handle, handleBatch or effect.apply
defineConsumer({ ...base, identity })
// remove handle or handleBatch
defineConsumer({ ...base, identity, handle, handleBatch })
// remove effect.apply
defineConsumer({ ...base, identity, handle, effect: { apply } })
// order 'key' needs identity.orderKey
defineConsumer({ ...base, identity, handle, order: 'key' })
// dedup 'checkpoint' needs order 'partition'
defineConsumer({ ...base, identity, handle, dedup: 'checkpoint' })
// dedup 'version' needs an effect
defineConsumer({ ...base, identity, handle, dedup: 'version' })
// workers order by key only
defineConsumer({ ...base, identity, handle, order: 'partition', inbox: { mode: 'stored' } })
// say in settle.lossAcceptable why
defineConsumer({ ...base, identity, handle, settle: { when: 'before effect' } })
// lossAcceptable has no effect
defineConsumer({ ...base, identity, handle, settle: { lossAcceptable: 'x' } })
// risk 'money' and 'regulatory' forbid
defineConsumer({
  ...base,
  risk: 'money',
  identity,
  handle,
  settle: { when: 'before effect', lossAcceptable: 'x' },
})
// 'defer' lets later messages pass
defineConsumer({ ...base, identity, handle, order: 'partition', failure: { mode: 'defer' } })
// 'stop' blocks a lane
defineConsumer({ ...base, identity, handle, failure: { exhausted: 'stop' } })
// businessDigest has no effect
defineConsumer({ ...base, identity: { id, businessDigest: (m: { key: string }) => m.key }, handle })
// idTime has no effect
defineConsumer({ ...base, identity: { id: 'content', idTime: 'ulid' }, handle })
// message.versions needs identity.schemaVersion
defineConsumer({ ...base, identity, handle, message: { versions: [1] } })
// memoryMaxMb has no effect
defineConsumer({ ...base, identity, handle, isolation: { memoryMaxMb: 64 } })
// needs receipts
defineConsumer({ ...base, identity, handle, evidence: { keep: 'payload', receipts: false } })
// reconcile compares effects with markers
defineConsumer({
  ...base,
  identity,
  handle,
  order: 'partition',
  dedup: 'checkpoint',
  reconcile: { effects: 'select' },
})
// choose what may follow a call
defineConsumer({ ...base, identity, handle, effect: { external: { g: { url, keyHeader: null } } } })
// needs query
defineConsumer({ ...base, identity, handle, effect: { external: { g: { url, policy: 'query first' } } } })
// SMTP has no idempotency keys
defineConsumer({
  ...base,
  identity,
  handle,
  effect: { external: { g: { kind: 'email', host: 'h', from: 'a@b.c', policy: 'keyed' } } },
})
