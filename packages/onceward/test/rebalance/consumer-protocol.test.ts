import { after, describe, test } from 'node:test'
import { type PrivateKafka, startPrivateKafka } from '../kafka/private-kafka.ts'
import { skipWithout } from '../services/services.ts'
import { throughEverything } from './through-everything.ts'

/** Brokers allow no session under 45 s by default. */
const properties = {
  'group.consumer.session.timeout.ms': '6000',
  'group.consumer.min.session.timeout.ms': '6000',
}

describe('the consumer protocol (KIP-848)', {
  timeout: 290_000,
  ...(await skipWithout('postgres', 'kafka')),
}, () => {
  let kafka: PrivateKafka | undefined
  after(() => kafka?.close())

  test('processes join, leave, die, freeze and restart under load', async t => {
    kafka = await startPrivateKafka({ properties })
    const { bootstrap } = kafka
    await throughEverything(t, {
      memory: 'offsets on the broker',
      zombie: 'learns first',
      protocol: 'consumer',
      bootstrap,
    })
  })
})
