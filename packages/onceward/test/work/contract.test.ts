import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConsumerProcess, defineConsumer, type OncewardError } from 'onceward'
import { MemoryQueue, MemoryStore } from 'onceward/memory'
import { createTestEnvironment } from 'onceward/testing'
import { type Job, jobContract } from './scene.ts'

describe('what a contract says about its inbox', () => {
  const refused = (changes: object, text: RegExp) =>
    assert.throws(
      () => defineConsumer<Job>({ ...jobContract('wrong'), ...changes } as never),
      (error: OncewardError) => error.code === 'contract_invalid' && text.test(error.message),
    )

  it('is refused with the field and the fix when it is wrong', () => {
    refused({ inbox: { mode: 'later' } }, /inbox\.mode: must be one of 'transactional', 'stored'/)
    refused({ inbox: { mode: 'stored', leaseMs: 10 } }, /inbox\.leaseMs: must be a whole number from 500/)
    refused({ inbox: { mode: 'stored', workers: 0 } }, /inbox\.workers/)
    refused({ inbox: { mode: 'stored', leasMs: 1 } }, /did you mean 'leaseMs'/)
    refused({ inbox: 'stored' }, /inbox: must be an object/)
  })

  it('is refused beside options that stored mode cannot support', () => {
    refused({ order: 'partition' }, /order: 'partition' cannot be preserved by workers.*use 'key'/)
    refused({ dedup: 'checkpoint', order: 'partition' }, /dedup: must be 'marker'/)
    refused(
      { risk: 'low value', settle: { when: 'before effect', lossAcceptable: 'yes' } },
      /settle\.when: 'before effect' loses messages that inbox\.mode 'stored' would keep/,
    )
  })

  it('needs a store that keeps work', async () => {
    const consumer = defineConsumer<Job, never>(jobContract('kept') as never)
    const env = createTestEnvironment()
    const one = new ConsumerProcess({
      consumer,
      source: new MemoryQueue(),
      store: new MemoryStore() as never,
      env,
      instance: 'unit',
    })
    await assert.rejects(one.start(), /cannot store work\. Nothing was started\. Use the PostgreSQL store/)
  })
})
