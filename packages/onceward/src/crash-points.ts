/**
 * Every window between two durable steps, by name. Production code calls `reach(point)`, which does nothing
 * unless the process was started with an armed point (`onceward/testing`). The crash suite kills a real
 * process at each point; the tidy test fails if a point has no scenario.
 */
export const crashPoints = {
  'batch.received': 'Nothing is durable yet: the broker redelivers the batch.',
  'batch.claimed': 'Markers are inserted but not committed: the rollback removes them.',
  'batch.applied':
    "The handler's writes are in the open transaction: the rollback removes them with the markers.",
  'batch.concluded': 'Everything is written, COMMIT is not sent: the rollback removes all of it.',
  'batch.fenced':
    "A log's partitions are proven ours and their positions are moved, COMMIT is not sent: the rollback removes positions and effects.",
  'batch.committed':
    'Effects are durable, the broker is not acknowledged: the redelivery is recognised as a duplicate.',
  'batch.settled':
    'The broker was acknowledged: at worst the acknowledgement is still in a buffer, and the redelivery is a duplicate.',
  'brake.engaging':
    'Failures that pause an event type are decided, the pause is not recorded: the next process pauses the type by its own evidence, within the same bound.',
  'brake.ending':
    'A message of a paused type is applied, its pause is still recorded: the next process tries messages at once and ends it.',
  'checkpoint.taken': "A partition's epoch is raised, nothing is read: the next owner raises it again.",
  'checkpoint.confirmed':
    'The broker has the start position of a partition, the store does not: the next start reads it from the broker again.',
  'drain.begun':
    'The consumer drains and receives nothing new: unfinished deliveries return to the broker unsettled.',
  'relay.leased':
    'Buckets of the outbox are leased to a dead relay: another relay takes over when the lease expires.',
  'relay.read':
    'The relay has read rows and done nothing else: the next relay of their bucket reads them again.',
  'relay.published': 'The broker confirmed, the row still exists: it is published again under the same id.',
  'relay.deleted': 'The row is deleted and its publication confirmed: nothing remains to do.',
  'relay.moved': 'One transaction has moved the row from the outbox to a queue of the same database.',
  'dispatch.leased': 'A lease is durable, no call is made: another dispatcher takes over when it expires.',
  'dispatch.queried':
    'The target reported whether an earlier call took effect, nothing is recorded: the next dispatcher queries again before it calls.',
  'dispatch.called': 'The target answered, nothing is recorded: the next call uses the same key and bytes.',
  'dispatch.recorded': 'The answer is recorded: nothing remains to do.',
  'postgres.leased':
    'Rows are leased to a dead subscription: they are delivered again when the lease expires.',
  'work.leased': 'A lease is durable, nothing is tried: another worker takes over when it expires.',
  'work.handoff':
    'One commit stored messages and leased them to the worker of the same process, nothing is tried: another worker takes over when the lease expires.',
  'work.finished':
    "A worker's effect is written, its row removed and its marker moved, COMMIT is not sent: the rollback undoes all of it, and the lease expires.",
  'work.committed': 'Effect, row and marker are durable together: nothing remains to do.',
  'replay.taken':
    'A campaign is leased to this process, nothing is read: another process may run it when the lease expires.',
  'replay.journaled':
    'A batch of a campaign is written with its counts and its position, COMMIT is not sent: the rollback removes all of it, and the batch is read again.',
  'replay.undone':
    'A forensic batch is rolled back and its findings are not written: the same batch is examined again.',
  'replay.ended':
    'Everything is read, the campaign is still recorded as running: the next run finds nothing left and ends it.',
  'swap.moved': 'Tables and markers are exchanged, COMMIT is not sent: everything is where it was.',
  'swap.done': 'The rebuilt tables are live and the campaign records it: nothing remains to do.',
  'swap.undone': 'The old tables are back, COMMIT is not sent: the rebuilt tables are still live.',
  'suspect.counted':
    'An attempt of a suspect is durable, its handler has not started: the next process counts a crash that the message did not cause.',
  'suspect.grouped':
    'A group of suspects is recorded, none of its handlers has started: the next process tries them in groups of half the size.',
  'suspect.reading':
    'Suspects are recorded under the digests of their bytes, none is read: the next process tries smaller groups, or counts a crash that the message did not cause.',
  'suspect.read':
    'Suspects are read, the record of the last ones still exists: the next process reads them in smaller groups, or counts a crash that none of them caused.',
  'parking.selected':
    'A redrive of parked messages is recorded, nothing is moved: the same request continues it.',
  'parking.moving': 'A stage of a redrive is moved, COMMIT is not sent: its messages are parked as before.',
  'parking.moved': 'A stage is released to the workers: the next stage starts where it ended.',
  'parking.skipped':
    'Messages are given up, COMMIT is not sent: they are parked as before, and the audit has no entry.',
  'parking.fixed': 'A payload is replaced, COMMIT is not sent: the original is unchanged.',
  'parking.deleted':
    'An approved deletion is written, COMMIT is not sent: the bytes and the approval still exist.',
  'retention.archived':
    'Rows are in the archive on disk and still in their table: the next pass archives them once more, then removes them.',
  'retention.removed': 'Rows are removed and the horizon is moved, COMMIT is not sent: both are as before.',
  'retention.committed': 'Rows are removed and the horizon is moved: the next pass continues with the rest.',
  'receipts.archived':
    'Receipts of a day are in the archive on disk and still in their table: the next pass archives them once more, then removes them.',
  'receipts.removed': 'Receipts of a day are removed, COMMIT is not sent: they are as before.',
  'receipts.gone': 'Receipts of a day are removed: the next pass continues with the next day.',
  'days.made': 'Tables for coming days are created, COMMIT is not sent: the next pass creates them.',
  'days.sealed':
    'Writes to an old day are recorded, the day still exists: the next pass checks it and drops it.',
  'days.dropped': 'A day is dropped and the horizon is moved, COMMIT is not sent: both are as before.',
  'days.gone': 'A day is dropped and the horizon is moved: the next pass continues with the next day.',
  'days.built':
    "A consumer's markers are copied to tables that are not attached, COMMIT is not sent: the markers are where they were.",
  'days.attached': 'The tables are attached, COMMIT is not sent: everything is as before.',
  'days.standing': "A consumer's markers are in daily tables: nothing remains to do.",
  'transform.produced':
    'Outputs and dead letters of a Kafka transaction are written, its offsets are not: the broker aborts it, and the records are transformed again.',
  'transform.positioned':
    'Outputs and offsets are written, the end of the transaction is not sent: the broker aborts it, and the records are transformed again.',
  'transform.committed':
    'The broker has committed outputs and offsets together: the next process reads from there.',
  'transform.repairing':
    'A partition whose end marker was skipped is added to a transaction again, its end is not sent: the broker aborts it, with the committed records in this partition.',
  'migrate.applied':
    'A migration is committed, the next one has not started: the next start continues from there.',
} as const

/** A named window between two durable steps. */
export type CrashPoint = keyof typeof crashPoints

/** Called at each point. Inert in production. */
export type Reach = (point: CrashPoint) => void

export const inert: Reach = () => {}
