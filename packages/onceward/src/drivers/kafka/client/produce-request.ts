import { type API, createAPI, produceV11, Writer } from './wire.ts'

export interface PartitionBatch {
  readonly topic: string
  readonly partition: number
  readonly batch: Buffer
}

const acksOfAll = -1

type ProduceArguments = [transactionalId: string | null, timeoutMs: number, batch: PartitionBatch]

/**
 * Version 12, in which the first batch adds its partition to the transaction. It equals version 11 on the
 * wire. The client library's encoder builds the batch anew at every attempt; this one sends it again byte for
 * byte.
 */
export const produceV12: API<ProduceArguments, produceV11.ProduceResponse> = createAPI(
  0,
  12,
  (
    transactionalId: ProduceArguments[0],
    timeoutMs: number,
    { topic, partition, batch }: PartitionBatch,
  ): Writer =>
    Writer.create()
      .appendString(transactionalId)
      .appendInt16(acksOfAll)
      .appendInt32(timeoutMs)
      .appendArray([topic], writer =>
        writer
          .appendString(topic)
          .appendArray([partition], one => one.appendInt32(partition).appendBytes(batch)),
      )
      .appendTaggedFields(),
  produceV11.parseResponse,
)
