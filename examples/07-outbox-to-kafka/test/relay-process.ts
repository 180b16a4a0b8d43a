import { realEnvironment } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { type CrashPoint, dieAt } from 'onceward/testing'

/** A relay that kills itself with SIGKILL when it gets to the point. */
const { point, ...addresses } = JSON.parse(process.env.RELAY_ORDERS!) as {
  databaseUrl: string
  kafkaBootstrap: string
  point: CrashPoint
}
process.on('disconnect', () => process.exit(0))
const relay = await runRelay({
  ...addresses,
  brokers: ['kafka'],
  relayLeaseMs: 1_500,
  env: realEnvironment({ reach: dieAt(point) }),
})
await relay.finished
