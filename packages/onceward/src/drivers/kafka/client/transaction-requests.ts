import { type API, createAPI, endTxnV4, ResponseError, txnOffsetCommitV4 } from './wire.ts'

type Arguments<Request extends (...values: never[]) => unknown> = Parameters<Request>

/** Version 5 equals 4 on the wire and adds the group to the transaction implicitly. */
export const txnOffsetCommitV5: API<
  Arguments<typeof txnOffsetCommitV4.createRequest>,
  txnOffsetCommitV4.TxnOffsetCommitResponse
> = createAPI(28, 5, txnOffsetCommitV4.createRequest, txnOffsetCommitV4.parseResponse)

export interface EndedTransaction {
  readonly errorCode: number
  /**
   * The identity for the next transaction: every end raises the epoch, so a late request of the ended
   * transaction is not added to the next one.
   */
  readonly producerId: bigint
  readonly producerEpoch: number
}

export const endTxnV5: API<Arguments<typeof endTxnV4.createRequest>, EndedTransaction> = createAPI(
  26,
  5,
  endTxnV4.createRequest,
  (_correlationId, apiKey, apiVersion, reader): EndedTransaction => {
    reader.readInt32()
    const ended = {
      errorCode: reader.readInt16(),
      producerId: reader.readInt64(),
      producerEpoch: reader.readInt16(),
    }
    if (ended.errorCode !== 0)
      throw new ResponseError(apiKey, apiVersion, { '/': [ended.errorCode, null] }, ended)
    return ended
  },
)
