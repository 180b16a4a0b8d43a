import { after, before, describe, test } from 'node:test'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { nodesAreKilled } from './nodes-are-killed.ts'

describe(
  'a cluster of three nodes without a set cluster name',
  await skipWithoutPrivateRabbitmq('4.0'),
  () => {
    let cluster: RabbitmqCluster
    before(async () => {
      cluster = await startRabbitmqCluster()
    })
    after(() => cluster?.close())

    test('the consumer and the relay continue at the next node when theirs is killed, also in a named environment', t =>
      nodesAreKilled(t, cluster))
  },
)
