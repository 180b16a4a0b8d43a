import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'
import { type Increment, incrementsOf, type Load } from '../workload.ts'
import { PgDataSource } from './dbos-data-source.ts'
import { increment, plainEffect } from './effect.ts'
import { chunksOf, handlerConnections, type Peer, type PeerPlace } from './peer.ts'

const workflowName = 'increment'
const queueOptions = { workerConcurrency: 500, minPollingIntervalMs: 10 }

async function launch({ databaseUrl, queue }: PeerPlace, listens: boolean): Promise<void> {
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: databaseUrl,
    systemDatabasePoolSize: handlerConnections,
    applicationVersion: 'bench',
    logLevel: 'error',
    ...(!listens && { listenQueues: ['none'] }),
  })
  await DBOS.launch()
  await DBOS.registerQueue(queue, queueOptions)
}

/** Registers what the workflow of one message does with it. */
type Register = (place: PeerPlace) => (message: Increment) => Promise<unknown>

const asStep: Register = place => {
  const effect = plainEffect(place)
  return message => DBOS.runStep(() => effect(message).then(() => {}), { name: 'apply' })
}

/** The checkpoint of the step commits with the effect. */
const asTransaction: Register = ({ databaseUrl }) => {
  const source = new PgDataSource(databaseUrl, handlerConnections)
  const apply = ({ key, amount }: Increment) =>
    source.client.query({ name: 'increment', text: increment, values: [key, amount] })
  return message => source.run(() => apply(message).then(() => {}), 'apply')
}

function dbos(name: string, register: Register, form: string): Peer {
  return {
    name,
    reads: 'postgres',
    packageName: '@dbos-inc/dbos-sdk',
    configuration:
      `workerConcurrency ${queueOptions.workerConcurrency}, minPollingIntervalMs ` +
      `${queueOptions.minPollingIntervalMs}, ${handlerConnections} connections each for system and data; ` +
      `one workflow a message, ${form}`,
    storesIds: true,
    handlesBatches: false,
    fill: enqueueAll,
    async work(place) {
      const apply = register(place)
      DBOS.registerWorkflow(async (message: Increment) => void (await apply(message)), { name: workflowName })
      await launch(place, true)
    },
  }
}

async function enqueueAll(place: PeerPlace, load: Load): Promise<void> {
  await launch(place, false)
  const client = await DBOSClient.create({ systemDatabaseUrl: place.databaseUrl })
  for (const chunk of chunksOf(incrementsOf(load), 50)) {
    await Promise.all(
      chunk.map(message =>
        client.enqueue(
          { queueName: place.queue, workflowName, workflowID: message.id, appVersion: 'bench' },
          message,
        ),
      ),
    )
  }
  await client.destroy()
  await DBOS.shutdown()
}

export const dboses: readonly Peer[] = [
  dbos('DBOS, step', asStep, 'one step with the update'),
  dbos('DBOS, transaction', asTransaction, 'one transaction step whose checkpoint commits with the update'),
]
