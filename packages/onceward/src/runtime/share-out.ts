import type { Consumer } from '../contract/define-consumer.ts'
import type { ChildNumber } from './child-process.ts'

/**
 * The contract as one of several processes on a machine runs it: together they hold about as much in memory
 * as one would. Each keeps room for the batches in progress and one that is read ahead.
 */
export function shareOut<M, Tx>(consumer: Consumer<M, Tx>, { number, of }: ChildNumber): Consumer<M, Tx> {
  if (of === 1) return consumer
  const { batch, source } = consumer
  const roomFor = batch.sizeMax * (batch.inFlightMax + 1)
  return {
    ...consumer,
    source: ownMember(source, number),
    batch: {
      ...batch,
      deliveriesMax: Math.max(Math.ceil(batch.deliveriesMax / of), Math.min(batch.deliveriesMax, roomFor)),
      bytesMax: Math.ceil(batch.bytesMax / of),
    },
  }
}

/** A static member of a Kafka group has a name of its own, which a restart keeps. */
function ownMember<Source extends object>(source: Source, number: number): Source {
  return 'instance' in source && typeof source.instance === 'string'
    ? { ...source, instance: `${source.instance}-${number}` }
    : source
}
