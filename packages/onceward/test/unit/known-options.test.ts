import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { file } from '../../src/drivers/file/declaration.ts'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { postgresQueue } from '../../src/drivers/postgres/queue/declaration.ts'
import { queue } from '../../src/drivers/rabbitmq/declaration.ts'
import { stream } from '../../src/drivers/rabbitmq-stream/stream.ts'

describe('a misspelt option of a source is refused where it is written', () => {
  const cases: [string, (options: object) => unknown, string, string][] = [
    ['rabbitmq', options => queue('q', options), 'singleActiveConsummer', 'singleActiveConsumer'],
    ['rabbitmq-stream', options => stream('s', options), 'superstream', 'superStream'],
    ['kafka', options => topic('t', options), 'grup', 'group'],
    ['postgres', options => postgresQueue('q', options), 'keyorder', 'keyOrder'],
    ['file', options => file('f', options), 'untill', 'until'],
  ]
  for (const [kind, declare, wrong, right] of cases) {
    test(kind, () => {
      assert.throws(() => declare({ [wrong]: true }), {
        code: 'configuration',
        message: new RegExp(`no option "${wrong}"\\. Did you mean "${right}"\\? Nothing was opened`),
      })
      assert.doesNotThrow(() => declare({ [right]: undefined }))
    })
  }
})
