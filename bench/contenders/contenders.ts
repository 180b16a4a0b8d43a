import { openBareSql } from './bare-sql.ts'
import type { OpenContender } from './contender.ts'
import { openHandBatch } from './hand-batch.ts'
import { openOncewardBatch, openOncewardMessage } from './onceward.ts'
import { openOncewardQueueBatch, openOncewardQueueMessage } from './onceward-postgres.ts'
import { openHandBatchQueue, openRawQueue, openTextbookQueue } from './postgres-queue.ts'
import { openRawConsume } from './raw-consume.ts'
import { openTextbook } from './textbook.ts'

export type Role = 'raw' | 'hand batch' | 'textbook' | 'bare sql' | 'batch form' | 'message form'
export type Broker = 'rabbitmq' | 'postgres'

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
  contender('rabbitmq', 'batch form', openOncewardBatch),
  contender('rabbitmq', 'message form', openOncewardMessage),
  contender('rabbitmq', 'textbook', openTextbook),
  contender('postgres', 'raw', openRawQueue),
  contender('postgres', 'bare sql', openBareSql),
  contender('postgres', 'hand batch', openHandBatchQueue),
  contender('postgres', 'batch form', openOncewardQueueBatch),
  contender('postgres', 'message form', openOncewardQueueMessage),
  contender('postgres', 'textbook', openTextbookQueue),
]

/** Bodies come from memory for this one; every other reads its own queue. */
export const readsQueue = (role: Role) => role !== 'bare sql'
export const writesMarkers = (role: Role) => role !== 'raw'
