import { evenPartitions, unevenPartitions } from '../logs/partition-of.ts'
import { openBareSql } from './bare-sql.ts'
import {
  openHandDrizzle,
  openHandKnex,
  openHandKysely,
  openOncewardDrizzle,
  openOncewardKnex,
  openOncewardKysely,
} from './builders.ts'
import type { OpenContender } from './contender.ts'
import { openHandBatch, openHandPrepared } from './hand-batch.ts'
import { openHandCheckpoint } from './logs/hand-checkpoint.ts'
import { openHandMarkers, openHandPreparedLog } from './logs/hand-markers.ts'
import { connectKafka } from './logs/kafka-reader.ts'
import { openOncewardStream, openOncewardTopic } from './logs/onceward-log.ts'
import { openRawLog } from './logs/raw-log.ts'
import { connectStream } from './logs/stream-reader.ts'
import { openOncewardBatch, openOncewardMessage, openOncewardMoney } from './onceward.ts'
import { openOncewardMeasured } from './onceward-measured.ts'
import { openOncewardQueueBatch, openOncewardQueueMessage } from './onceward-postgres.ts'
import {
  openHandBatchQueue,
  openHandPreparedQueue,
  openRawQueue,
  openTextbookQueue,
} from './postgres-queue.ts'
import { openRawConsume } from './raw-consume.ts'
import { openTextbook } from './textbook.ts'

export type Role =
  | 'raw'
  | 'bare sql'
  | 'hand batch'
  | 'hand prepared'
  | 'hand kysely'
  | 'hand drizzle'
  | 'hand knex'
  | 'hand checkpoint'
  | 'textbook'
  | 'batch form'
  | 'message form'
  | 'kysely form'
  | 'drizzle form'
  | 'knex form'
  | 'measured form'
  | 'money batch form'
  | 'money message form'
  | 'receipts batch form'
  | 'receipts message form'
  | 'checkpoint form'
  | 'partition order form'
  | 'key order form'
  | '64 uneven form'
export type Broker = 'rabbitmq' | 'postgres' | 'kafka' | 'stream'

export interface Contender {
  /** `rabbitmq, hand batch`: unique in the table. */
  readonly name: string
  readonly broker: Broker
  readonly role: Role
  readonly open: OpenContender
}

function contender(broker: Broker, role: Role, open: OpenContender): Contender {
  return { name: `${broker}, ${role}`, broker, role, open }
}

export const contenders: readonly Contender[] = [
  contender('rabbitmq', 'raw', openRawConsume),
  contender('rabbitmq', 'bare sql', openBareSql),
  contender('rabbitmq', 'hand batch', openHandBatch),
  contender('rabbitmq', 'hand prepared', openHandPrepared),
  contender('rabbitmq', 'batch form', openOncewardBatch),
  contender('rabbitmq', 'measured form', openOncewardMeasured),
  contender('rabbitmq', 'message form', openOncewardMessage),
  contender('rabbitmq', 'hand kysely', openHandKysely),
  contender('rabbitmq', 'kysely form', openOncewardKysely),
  contender('rabbitmq', 'hand drizzle', openHandDrizzle),
  contender('rabbitmq', 'drizzle form', openOncewardDrizzle),
  contender('rabbitmq', 'hand knex', openHandKnex),
  contender('rabbitmq', 'knex form', openOncewardKnex),
  contender('rabbitmq', 'money batch form', openOncewardMoney('batch', 'without receipts')),
  contender('rabbitmq', 'money message form', openOncewardMoney('message', 'without receipts')),
  contender('rabbitmq', 'receipts batch form', openOncewardMoney('batch', 'with receipts')),
  contender('rabbitmq', 'receipts message form', openOncewardMoney('message', 'with receipts')),
  contender('rabbitmq', 'textbook', openTextbook),
  contender('postgres', 'raw', openRawQueue),
  contender('postgres', 'bare sql', openBareSql),
  contender('postgres', 'hand batch', openHandBatchQueue),
  contender('postgres', 'hand prepared', openHandPreparedQueue),
  contender('postgres', 'batch form', openOncewardQueueBatch),
  contender('postgres', 'message form', openOncewardQueueMessage),
  contender('postgres', 'textbook', openTextbookQueue),
  contender('kafka', 'raw', openRawLog(connectKafka)),
  contender('kafka', 'bare sql', openBareSql),
  contender('kafka', 'hand batch', openHandMarkers(connectKafka)),
  contender('kafka', 'hand prepared', openHandPreparedLog(connectKafka)),
  contender('kafka', 'batch form', openOncewardTopic({})),
  contender('kafka', 'partition order form', openOncewardTopic({ order: 'partition' })),
  contender('kafka', 'key order form', openOncewardTopic({ order: 'key' })),
  contender('kafka', '64 uneven form', openOncewardTopic({})),
  contender('kafka', 'message form', openOncewardTopic({ form: 'message' })),
  contender('kafka', 'hand checkpoint', openHandCheckpoint(connectKafka)),
  contender('kafka', 'checkpoint form', openOncewardTopic({ dedup: 'checkpoint' })),
  contender('stream', 'raw', openRawLog(connectStream)),
  contender('stream', 'bare sql', openBareSql),
  contender('stream', 'hand batch', openHandMarkers(connectStream)),
  contender('stream', 'hand prepared', openHandPreparedLog(connectStream)),
  contender('stream', 'batch form', openOncewardStream({})),
  contender('stream', 'message form', openOncewardStream({ form: 'message' })),
  contender('stream', 'hand checkpoint', openHandCheckpoint(connectStream)),
  contender('stream', 'checkpoint form', openOncewardStream({ dedup: 'checkpoint' })),
]

/** What collecting metrics costs: the batch form with and without. */
export const measuresMetrics = ({ broker, role }: Contender) =>
  broker === 'rabbitmq' && (role === 'measured form' || role === 'batch form')

/** What receipts cost: risk money with and without, in both forms. */
export const measuresReceipts = ({ role }: Contender) => /^(money|receipts) /.test(role)

/** Bodies come from memory for this one; every other reads its own queue or the log of the round. */
export const readsQueue = (role: Role) => role !== 'bare sql'
export function readsLog(
  contender: Contender,
): contender is Contender & { readonly broker: 'kafka' | 'stream' } {
  return readsQueue(contender.role) && (contender.broker === 'kafka' || contender.broker === 'stream')
}
export const appliesEffects = (role: Role) => role !== 'raw'
/** The position in the store is the whole memory of these. */
export const keepsCheckpoint = (role: Role) => role === 'hand checkpoint' || role === 'checkpoint form'
export const isOnceward = (role: Role) => role.endsWith('form')

export function partitionsOf({ broker, role }: Contender): number {
  if (broker !== 'kafka') return 1
  return role === '64 uneven form' ? unevenPartitions : evenPartitions
}
