import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExclusiveTransactions } from '../../src/drivers/kafka/exclusive-transactions.ts'
import { silent } from '../../src/environment.ts'
import { OncewardError } from '../../src/errors.ts'

const fenced = () => Promise.reject(new OncewardError('producer_fenced', 'fenced'))

/** Fenced four times in a row, then not any more. Answers with how often a rival was suspected. */
async function fencedFourTimes(named: boolean): Promise<number> {
  let rivals = 0
  const transactions = new ExclusiveTransactions({ state: 'ready' } as never, {
    log: silent,
    stopping: new AbortController().signal,
    onRival: named ? () => void rivals++ : null,
    onRefused: assert.fail,
  })
  for (let round = 0; round < 4; round++)
    await assert.rejects(transactions.run(fenced), { code: 'producer_fenced' })
  assert.equal(await transactions.run(async () => 'done'), 'done')
  return rivals
}

test('repeated fencing means a rival only under a name that another process may have', async () => {
  assert.ok((await fencedFourTimes(true)) > 0)
  assert.equal(await fencedFourTimes(false), 0)
})
